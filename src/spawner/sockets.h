/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot's network outlives its containers, and so do, for a while, connections that were closed:
 * who has the slot next could read with whom the last one spoke. How long is bounded where the
 * namespace is made; that nothing is left when the next one starts, here.
 */
#ifndef BERTH_SPAWNER_SOCKETS_H
#define BERTH_SPAWNER_SOCKETS_H

/*
 * Ends every TCP connection of this network namespace, of which nothing must be running. Takes
 * CAP_NET_ADMIN in it. A kernel that cannot (CONFIG_INET_DIAG_DESTROY) lets them run out.
 */
void sockets_end_all(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments whose schema has "x-mcp-header": "X" are repeated by modern clients in the header
 * Mcp-Param-X, so that proxies can route by them. The two must agree.
 */
#ifndef BERTH_MCP_PARAM_HEADERS_H
#define BERTH_MCP_PARAM_HEADERS_H

#include "http/http.h"
#include "json/json.h"

/* `properties` are the schemas by argument name. ERR_INVALID names the header (-32020). */
int param_headers_check(const json_t *properties, const json_t *arguments,
			const struct http_request *req, struct err *err) MUST_CHECK;

#endif

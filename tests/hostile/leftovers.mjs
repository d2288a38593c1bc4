// What a tenant leaves behind for the next start of the container, or for whoever deletes the files.
const python = (lines) => `python3 -c '${lines}'`;

// [name, command]
export const leftovers = [
  ['links where mounts go (CVE-2021-30465)', 'mv /etc/resolv.conf /etc/was; ln -s /proc/1/root/etc/shadow /etc/resolv.conf; for d in home opt srv mnt media; do rm -rf /$d; ln -s /proc/1/root /$d; done'],
  ['links in the workspace', 'for i in $(seq 50); do ln -s / /workspace/link$i; ln -s ../../.. /workspace/up$i; done'],
  ['folders that nobody may enter', 'mkdir -p a/b/c; touch a/b/c/f; chmod 000 a/b/c/f a/b/c a/b a; chmod 000 /workspace'],
  ['files of other ids', 'mkdir -p ids; for i in 1 1000 65534 65535; do touch ids/$i; mkdir ids/d$i; chown $i:$i ids/$i ids/d$i; chmod 700 ids/d$i; done; chown 65535:65535 ids; chmod 1700 ids'],
  ['names like options and escapes', String.raw`cd /workspace; touch -- -rf '--no-preserve-root' $'new\nline' $'\e[2J' $'\xff' ' ' '*' '$(reboot)'; mkdir -- -d`],
  ['pipes, sockets and hard links', `mkfifo p1 p2; ${python('import os, socket\nsocket.socket(socket.AF_UNIX).bind("s")\nopen("h", "w")\nfor i in range(200): os.link("h", f"h{i}")')}`],
  ['a tree 400 deep', python('import os\nfor i in range(400):\n  os.mkdir("n" * 50); os.chdir("n" * 50)')],
  ['overlay marks set by hand', python('import os\nos.makedirs("/etc/marked")\nfor name, value in (("opaque", b"y"), ("redirect", b"/../../../../etc"), ("metacopy", b""), ("origin", b"x"), ("whiteout", b"y")):\n  try: os.setxattr("/etc/marked", "user.overlay." + name, value)\n  except OSError: pass\nos.makedirs("/workspace/marked")\ntry: os.setxattr("/workspace/marked", "user.overlay.redirect", b"/etc")\nexcept OSError: pass')],
  ['a working directory that is gone', 'mkdir gone; cd gone; rmdir ../gone; setsid sleep 1000 >/dev/null 2>&1 </dev/null & true'],
  ['a shell that does harm', 'printf "#!/bin/sh\\nexit 3\\n" >/tmp/sh; chmod 755 /tmp/sh; cp /tmp/sh /usr/bin/bash.new; mv /usr/bin/bash.new /usr/bin/bash; mv /lib64 /lib64.gone; true'],
];

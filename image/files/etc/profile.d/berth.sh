# Nobody sits at a terminal here: no pagers, no editors, no questions.
export PAGER=cat GIT_PAGER=cat SYSTEMD_PAGER=cat MANPAGER=cat
export GIT_EDITOR=true EDITOR=true VISUAL=true
export DEBIAN_FRONTEND=noninteractive
export PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export PYTHONUNBUFFERED=1
export LANG=C.UTF-8

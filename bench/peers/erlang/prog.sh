#!/bin/sh
# SPDX-License-Identifier: MIT
# prog.sh ROW SIZE WORKERS: runs a row; the modules lie beside this file.
# +hms: a small first heap for actors that live shortly or idle. +swt: another scheduler wakes up
# later, which is good where all wait for one actor.
case $1 in
create | monitor) flags="+hms 30 +swt very_high" ;;
skynet | fib | memory) flags="+hms 30" ;;
counting | fanin) flags="+swt very_high" ;;
tcp-* | udp-*) flags="+K true +sbwt none +sbwtdcpu none +sbwtdio none" ;;
*) flags= ;;
esac
# $flags is several words.
ERL_CRASH_DUMP_BYTES=0 exec erl -noinput -pa "$(dirname "$0")" +S "$3:$3" +P 2000000 $flags \
    -run bench main "$@"

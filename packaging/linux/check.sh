#!/bin/bash
# Install the .deb in an empty Debian, use it as a person would, remove it, and compare before and after. Needs root.
#   debootstrap --variant=minbase trixie /tmp/root && packaging/linux/check.sh dist/hypatia-companion_*.deb /tmp/root
set -euo pipefail
if (($# != 2)); then
  sed -n '2,3s/^# *//p' "$0" >&2
  exit 2
fi
deb=$1 root=$(realpath "$2") here=$(cd "$(dirname "$0")/../.." && pwd)
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
person() { inside runuser -u person -- env HOME=/home/person LANG=C.UTF-8 "$@"; }
fail() { echo "$1" >&2; exit 1; }
# What is there: every file with its digest, links with their target, folders; not what package tools and logs keep.
listing() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run -o -path ./var/lib \
    -o -path ./var/cache -o -path ./var/log -o -path ./etc/ld.so.cache \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
  find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run -o -path ./var \) -prune -o \
    \( -type l -printf '%p -> %l\n' -o -type d -printf '%p/\n' \) | sort)
}
# Processes of the program in this root, not in another one that is checked at the same time.
ours() {
  for pid in $(pgrep -f /usr/lib/hypatia-companion/); do
    [[ $(readlink "/proc/$pid/root") != "$root" ]] || ps -o pid=,args= -p "$pid"
  done
}
mount --bind /proc "$root/proc"; mount --bind /dev "$root/dev"
trap 'umount -l "$root/proc" "$root/dev"' EXIT
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

echo "== a desktop's libraries, a screen and a panel"
depends=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/libglib2.0-0 | libglib2.0-0t64/libglib2.0-0/; s/,/ /g')
inside apt-get -qq update
[[ -n $(inside apt-cache search --names-only '^libglib2.0-0t64$') ]] && depends=${depends/libglib2.0-0/libglib2.0-0t64}
# shellcheck disable=SC2086
inside apt-get -qq install --no-install-recommends $depends xvfb xauth dbus trayer openbox >/dev/null
inside id person >/dev/null 2>&1 || inside useradd --create-home person
mkdir -p "$root/home/person/.claude"
printf '{\n\t"theme": "dark" }\n' >"$root/home/person/.claude.json"
inside chown -R person:person /home/person
cp "$deb" "$root/tmp/package.deb"
listing >"$root/tmp/before"

echo "== install"
inside dpkg -i /tmp/package.deb >/dev/null

echo "== self-test"
person QT_QPA_PLATFORM=offscreen hypatia-companion --self-test 2>/dev/null

echo "== remember a conversation, connect an agent"
log=home/person/.dsh/sessions/--self-test-garden--/self-test
mkdir -p "$root/$log"
cp "$here/resources/self-test/session.v4.jsonl" "$root/$log/"
inside chown -R person:person /home/person/.dsh
person hypatia-companion run --once --from all
person hypatia-companion agents connect claude --part mcp >/dev/null
grep -q hypatia-companion-console "$root/home/person/.claude.json" || fail "the agent was not connected"

echo "== start under a screen with a panel"
cat >"$root/tmp/session" <<'SESSION'
openbox & first=$!
trayer & second=$!
sleep 2
hypatia-companion & app=$!
sleep 8
hypatia-companion status --json >/tmp/status.json; grep -o '"running": [a-z]*' /tmp/status.json
for maps in /proc/[0-9]*/maps; do
  [[ $(tr '\0' ' ' <"${maps%maps}cmdline") == */hypatia-companion-console* ]] || continue
  grep -q libQt6 "$maps" && echo "a child loads Qt" || echo "a child without Qt: $(awk '/^VmRSS/ {print $2 / 1000 " MB"}' "${maps%maps}status")"
done
awk '/^VmRSS/ {print "the window\047s program: " $2 / 1000 " MB"}' "/proc/$app/status"
touch /tmp/looked
[[ $1 == term ]] && kill -TERM "$app"
wait "$app"
echo "ended with $?"
kill "$first" "$second"
wait
SESSION
person xvfb-run -a dbus-run-session -- bash /tmp/session term 2>/dev/null | tee "$root/tmp/said"
grep -q "a child without Qt" "$root/tmp/said" && ! grep -q "loads Qt" "$root/tmp/said" || fail "no child, or one with Qt"
grep -q '"running": true' "$root/tmp/status.json" || fail "it did not run"
grep -q 'ended with 0' "$root/tmp/said" || fail "it did not end well"
[[ -z $(ours) ]] || fail "processes were left: $(ours)"

echo "== remove, while it runs"
rm "$root/tmp/looked"
person xvfb-run -a dbus-run-session -- bash /tmp/session stay >"$root/tmp/said" 2>/dev/null & session=$!
until [[ -e $root/tmp/looked ]]; do sleep 0.5; done
inside dpkg --purge hypatia-companion
wait "$session"
grep 'ended with 0' "$root/tmp/said" || fail "it did not end well"
[[ -z $(ours) ]] || fail "processes were left: $(ours)"
rm -rf "${root:?}/home/person/.dsh"
listing >"$root/tmp/after"
# The memory the person kept, and the cache that any Qt program leaves.
kept='\./home/person/\.(local/share/hypatia-companion|config/hypatia-companion|cache)(/|$)|\./home/person/\.(local|local/share|config)/$'
if diff <(grep -Ev "$kept" "$root/tmp/before") <(grep -Ev "$kept" "$root/tmp/after"); then
  echo "== nothing else is left; of the person's memory:"
  (cd "$root" && find home/person/.local/share/hypatia-companion home/person/.config/hypatia-companion -type f | sort)
else
  fail "these files are left"
fi

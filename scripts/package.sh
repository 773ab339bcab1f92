#!/bin/bash
# package.sh BINARY VERSION OUT.deb: a Debian package of the binary and deploy/systemd. It enables and starts nothing; an upgrade
# restarts the roles that run. The embedded engine is not in it.
set -euo pipefail
binary=$1 version=$2 out=$3
source=$(cd "$(dirname "$0")/.." && pwd)/deploy
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

case $version in
  v[0-9]*) version=${version#v} ;;
  [0-9]*.*) ;;
  *) version=0~$version ;; # a commit: Debian's versions begin with a digit, and this one precedes every release
esac
version=${version//-/+}

install -D -m 755 "$binary" "$root/usr/bin/giverny"
install -D -m 644 -t "$root/usr/lib/systemd/system" "$source"/systemd/*.service
install -D -m 644 -t "$root/usr/lib/systemd/system/giverny-.service.d" "$source"/systemd/giverny-.service.d/*.conf
install -D -m 644 "$source/systemd/sysusers.conf" "$root/usr/lib/sysusers.d/giverny.conf"
install -D -m 644 "$source/systemd/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/giverny.conf"
install -D -m 644 -t "$root/usr/share/doc/giverny/examples" "$source"/systemd/drop-ins/*.conf "$source/systemd/umad.rules" "$source/giverny.yaml"
chmod -R u=rwX,go=rX "$root"

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: giverny
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: the Giverny project
Depends: systemd
Section: net
Priority: optional
Description: congestion in RDMA and HPC fabrics
 The agent, the analyser, the page and the API, with a unit of systemd for each.
END
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
systemd-sysusers --root="$DPKG_ROOT/" giverny.conf
systemd-tmpfiles --root="$DPKG_ROOT/" --create giverny.conf
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart 'giverny-*.service'
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl disable --now giverny-collect giverny-analyze giverny-serve giverny-up; fi
END
cat >"$root/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
END
chmod 755 "$root"/DEBIAN/p*
chmod 755 "$root"
dpkg-deb --root-owner-group -Zgzip --build "$root" "$out" >/dev/null
echo "make package: $out $version"

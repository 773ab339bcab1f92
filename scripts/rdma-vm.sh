#!/bin/bash
# rdma-vm.sh DIR: makes DIR/vmlinuz, DIR/initrd and DIR/key, the guests of `make rdma`: Debian's kernel and
# tools, a soft-RoCE adapter (rdma_rxe) on the second network interface, and sshd. As root, which apt needs.
# Silent when all is there, and newer than this script.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
cd "$1"
"$root/scripts/apt-install.sh" qemu-system-x86 busybox-static perftest ibverbs-providers rdma-core iproute2 ethtool \
  dropbear-bin openssh-client cpio kmod numactl hwloc-nox procps
[ ! vmlinuz -nt "$root/scripts/rdma-vm.sh" ] || exit 0

package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')
version=${package#linux-image-}
if [ ! -e "kernel/boot/vmlinuz-$version" ]; then
  rm -rf kernel
  mkdir kernel
  (cd kernel && apt-get download -q -o APT::Sandbox::User=root "$package" && dpkg -x ./*.deb . && rm ./*.deb)
  depmod -b kernel "$version"
fi

[ -e key ] || ssh-keygen -q -t ed25519 -N '' -f key
[ -e host_key ] || dropbearkey -t ed25519 -f host_key >/dev/null 2>&1

rm -rf guest
mkdir -p guest/{bin,usr/bin,usr/lib/x86_64-linux-gnu/libibverbs,lib64,proc,sys,dev,tmp,run,var/run,modules,root/.ssh,etc/dropbear,etc/libibverbs.d}
cp /bin/busybox guest/bin/
for tool in $(busybox --list); do [ "$tool" = busybox ] || ln -sf busybox "guest/bin/$tool"; done
for tool in ip rdma ethtool ib_write_bw ib_read_bw ib_send_bw ib_write_lat numactl lstopo-no-graphics dropbear pkill; do
  file=$(readlink -f "$(PATH=$PATH:/usr/sbin:/sbin command -v $tool)")
  cp "$file" "guest/usr/bin/$tool"
  ldd "$file" | awk '/=> \// {print $3} /^\t\/lib64/ {print $1}' | while read -r library; do
    install -D "$(readlink -f "$library")" "guest/$library"
  done
done
rm -f guest/bin/ip
cp /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so guest/usr/lib/x86_64-linux-gnu/libibverbs/
echo "driver rxe" >guest/etc/libibverbs.d/rxe.driver
echo "root::0:0:root:/root:/bin/sh" >guest/etc/passwd
echo /bin/sh >guest/etc/shells
cp host_key guest/etc/dropbear/dropbear_ed25519_host_key
install -m 600 key.pub guest/root/.ssh/authorized_keys
chmod 700 guest/root guest/root/.ssh

for module in virtio_pci virtio_net crc32_generic rdma_rxe; do
  modprobe -d "$PWD/kernel" -S "$version" --show-depends "$module" | awk '$1 == "insmod" {print $2}'
done | awk '!seen[$0]++' | while read -r file; do
  cp "$file" guest/modules/
  basename "$file" >>guest/modules/order
done

cat >guest/init <<'INIT'
#!/bin/sh
# node=N of the kernel's command line is the host's number on the fabric.
export PATH=/usr/bin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done </modules/order
for word in $(cat /proc/cmdline); do case $word in node=*) node=${word#node=} ;; esac; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip addr add "10.8.0.$node/24" dev eth1
ip link set eth1 up
rdma link add rxe0 type rxe netdev eth1
echo "guest $node is up"
exec dropbear -F -E -s -j -k
INIT
chmod 755 guest/init
(cd guest && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >initrd
rm -rf guest
cp "kernel/boot/vmlinuz-$version" vmlinuz.tmp
mv vmlinuz.tmp vmlinuz # last: it marks the folder as complete
echo "rdma-vm: guests are ready in $PWD"

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetch the sources of the nfs-ganesha that is installed, for its headers: Debian packs none.  Prints the directory.
# The list of sources is a temporary one in DIR: the system's own is left alone.
# Usage: ganesha-tree.sh DIR
dir=$(realpath -m "${1:?usage: ganesha-tree.sh DIR}")
tree=$dir/nfs-ganesha
die() { echo "ganesha-tree: $*" >&2; exit 1; }

version=$(dpkg-query -W -f '${Version}' nfs-ganesha 2>/dev/null) || die "nfs-ganesha is not installed"
if [ -e "$tree/src/include/fsal_api.h" ] && [ "$(cat "$tree/.version" 2>/dev/null)" = "$version" ]; then
	echo "$tree"
	exit
fi
. /etc/os-release
rm -rf "$tree" "$dir/apt"
mkdir -p "$tree" "$dir/apt/parts" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" || exit 1
cat >"$dir/apt/parts/src.sources" <<-END
	Types: deb-src
	URIs: ${DEBIAN_MIRROR:-http://deb.debian.org/debian}
	Suites: $VERSION_CODENAME
	Components: main
	Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
options=(-q -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$dir/apt/parts"
	-o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o Acquire::Retries=3)
apt-get "${options[@]}" update >&2 || die "apt-get update failed"
# --tar-only: of the package's files the upstream archive alone is wanted, and another one may be missing.
(cd "$dir/apt" && apt-get "${options[@]}" source --tar-only "nfs-ganesha=$version" >&2) ||
	die "apt-get source nfs-ganesha=$version failed"
tar -xf "$dir"/apt/nfs-ganesha_*.orig.tar.* -C "$tree" --strip-components=1 || die "the archive cannot be unpacked"
rm -rf "$dir/apt"
[ -e "$tree/src/include/fsal_api.h" ] || die "the archive has no src/include/fsal_api.h"
echo "$version" >"$tree/.version"
echo "$tree"

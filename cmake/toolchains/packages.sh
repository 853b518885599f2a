# Read by .ci/run and python/wheel.sh: libraries of other systems, for the toolchains beside this file. POSIX sh with `local`.
# shellcheck shell=sh disable=SC2154,SC3043
# Callers set `root` (the source folder), `build` (where the packages go) and `cmake`.

# Debian's packages for arm64, unpacked into $build/aarch64-packages.
get_aarch64_packages() {
    local folder="$build/aarch64-packages" apt package
    apt=$folder/apt
    [ ! -f "$folder/complete" ] || return 0
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    apt_in "$apt" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 update || return 1
    (cd "$apt" && apt_in "$apt" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 download \
        libjansson4 libjansson-dev libcmocka0 libcmocka-dev libvulkan-dev) || return 1
    for package in "$apt"/*.deb; do dpkg -x "$package" "$folder" || return 1; done
    : >"$folder/complete"
}

# apt_in FOLDER ARGUMENT...: apt-get with lists, caches and status of its own.
apt_in() {
    local apt=$1
    shift
    apt-get -q -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" "$@"
}

# unpack_sources FOLDER NAME...: Debian's sources, each in a folder of its own name.
unpack_sources() {
    local apt=$1 name
    shift
    apt_in "$apt" -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts" update || return 1
    (cd "$apt" && apt_in "$apt" -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts" \
        source --download-only "$@") || return 1
    for name in "$@"; do
        rm -rf "${apt:?}/$name"
        mkdir "$apt/$name"
        tar -x -f "$apt/${name}"_*.orig.tar.[gx]z --strip-components=1 -C "$apt/$name" || return 1
    done
}

# jansson and cmocka built from Debian's sources for Windows, in $build/windows-packages.
get_windows_packages() {
    local folder="$build/windows-packages" apt name
    apt=$folder/apt
    [ ! -f "$folder/complete" ] || return 0
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/parts"
    : >"$apt/status"
    apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        grep '/debian/* [a-z]* main$' | sort -u >"$apt/sources.list"
    unpack_sources "$apt" jansson cmocka || return 1
    for name in jansson cmocka; do
        "$cmake" -S "$apt/$name" -B "$apt/$name/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
            "-DCMAKE_TOOLCHAIN_FILE=$root/cmake/toolchains/windows.cmake" "-DCMAKE_INSTALL_PREFIX=$folder" \
            -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF -DWITH_EXAMPLES=OFF \
            -DWITH_STATIC_LIB=ON -DUNIT_TESTING=OFF &&
            "$cmake" --build "$apt/$name/build" --target install || return 1
    done
    [ ! -d /usr/include/vulkan ] || cp -r /usr/include/vulkan /usr/include/vk_video "$folder/include" # the same for every system
    rm -f "$folder/lib/libcmocka.dll.a"
    mv "$folder/lib/libcmocka-static.a" "$folder/lib/libcmocka.a" && : >"$folder/complete"
}

#!/usr/bin/env bash
# Installs the storage servers of the tests (tests/servers/versions.txt) into the user's cache, which clones share:
# MinIO and fake-gcs-server are built with Go, Azurite comes with npm, HDFS and Spark's S3 client with Maven. Does nothing
# for those that are there. `tools/servers.sh minio hadoop` installs only these. A server that cannot be installed is one loud line; its
# tests do not run. In CI (CI=true) it is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=tests/servers/versions.txt
home=${XDG_CACHE_HOME:-$HOME/.cache}/lakebed/servers
log=$home/install.log
mkdir -p "$home"
exec 9>"$home/lock"
command -v flock >/dev/null 2>&1 && flock 9 # another clone may be installing

have() { command -v "$1" >/dev/null 2>&1; }

# need PROGRAM PACKAGES...: a program that builds or runs a server; on Debian as root it is installed.
need() {
  local program=$1
  have "$program" && return
  if [ "$(id -u)" = 0 ] && have apt-get; then
    shift
    { apt-get update && apt-get install -y --no-install-recommends "$@"; } >>"$log" 2>&1 || true
  fi
  have "$program" || { echo "no $program on this machine" >>"$log"; return 1; }
}

install_minio() { need go golang-go && GOBIN="$2" go install "github.com/minio/minio@$1" >>"$log" 2>&1; }

install_gcs() {
  need go golang-go && (cd tests/servers/gcs && go build -o "$2/gcs" .) >>"$log" 2>&1 && cp tests/servers/gcs/* "$2"
}

install_azurite() {
  need node nodejs && need npm npm \
    && npm install --prefix "$2" --no-fund --no-audit --loglevel=error "azurite@$1" >>"$log" 2>&1
}

install_hadoop() {
  need java openjdk-17-jre-headless && need mvn maven || return
  cat >"$2/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakebed</groupId><artifactId>hadoop</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId><version>$1</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn -B -q -f "$2/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$2" >>"$log" 2>&1
}

# The S3 file system of Spark. The whole AWS SDK has 650 MB; these parts of it are enough. Spark brings netty.
install_hadoop_aws() {
  need java openjdk-17-jre-headless && need mvn maven || return
  local parts="" part sdk=2.35.4
  for part in s3 s3-transfer-manager sts; do
    parts+="<dependency><groupId>software.amazon.awssdk</groupId><artifactId>$part</artifactId>"
    parts+="<version>$sdk</version></dependency>"
  done
  cat >"$2/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakebed</groupId><artifactId>hadoop-aws</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>$1</version>
      <exclusions>
        <exclusion><groupId>software.amazon.awssdk</groupId><artifactId>bundle</artifactId></exclusion>
      </exclusions>
    </dependency>
    $parts
  </dependencies>
</project>
POM
  mvn -B -q -f "$2/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DexcludeGroupIds=io.netty,org.slf4j \
    -DoutputDirectory="$2" >>"$log" 2>&1
}

# outdated NAME FOLDER: whether a server has to be installed; the sources of gcs may have changed.
outdated() {
  [ -d "$2" ] || return 0
  [ "$1" = gcs ] && ! { cmp -s tests/servers/gcs/main.go "$2/main.go" && cmp -s tests/servers/gcs/go.sum "$2/go.sum"; }
}

failed=0
while read -r name version; do
  case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
  folder=$home/$name-$version
  if outdated "$name" "$folder"; then
    echo "Installing the storage server $name $version."
    building=$(mktemp -d "$home/.$name.XXXXXX")
    echo "== $name $version" >>"$log"
    if "install_$name" "$version" "$building"; then
      rm -rf "$folder"
      chmod 755 "$building"
      mv "$building" "$folder"
    else
      rm -rf "$building"
      echo "STORAGE SERVER $name IS MISSING: its tests cannot run (see $log)." >&2
      failed=1
      continue
    fi
  fi
  echo "$name $version is here."
done < <(grep -v '^#' "$versions")
[ $failed = 0 ] || [ "${CI:-}" != true ] || exit 1

#!/usr/bin/env bash
# Runs the commands of README.md, from "Try it" on, on the current control plane. Each must
# print what the page shows, and succeed unless the page shows an error or another exit code.
#
# "make demo" runs this; by hand: bin/cluster run -- test/demo.sh </dev/null
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  bold=$'\e[1m' plain=$'\e[0m'
fi

controller=''
stop_controller() {
  [[ -n $controller ]] || return 0
  kill -INT "$controller" 2>/dev/null || fail 'the controller has ended by itself'
  wait "$controller" || fail "the controller has ended with exit code $?"
  controller=''
}
trap '[[ -z $controller ]] || kill "$controller" 2>/dev/null' EXIT

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# plain_text removes ages, and alignment, which depends on them.
plain_text() {
  sed -E 's/ +/ /g; s/ [0-9]+s$//'
}

# run runs a command. The lines that the page shows after it follow.
run() {
  local command=${1%%  #*} output line code=0 wanted=0
  [[ ! $1 =~ 'exits with '([0-9]+) ]] || wanted=${BASH_REMATCH[1]}
  shift
  printf '\n%s\n' "${bold}\$ $command${plain}"
  if [[ $command == *run-controller* ]]; then
    stop_controller
    bash -c "exec $command" &
    controller=$!
    return
  fi
  output=$(bash -c "$command" 2>&1) || code=$?
  printf '%s\n' "$output"
  for line; do
    [[ $line != error:* ]] || wanted=$code
    grep -qxF -- "$(plain_text <<<"$line")" <<<"$(plain_text <<<"$output")" || fail "the output has no line \"$line\""
  done
  ((code == wanted)) || fail "exit code $code, want $wanted"
  [[ "$*" != *error:* ]] || ((code != 0)) || fail 'it succeeded'
}

block=''
command=()
tried=0
while IFS= read -r line <&3; do
  case $line in
    '```'*) block=${line#'```'} ;;
    '') continue ;;
    *)
      if [[ $block == console && $line != '$ '* ]]; then
        command+=("$line")
        continue
      elif [[ -z $block ]]; then
        continue
      fi
      ;;
  esac
  ((${#command[@]} == 0)) || run "${command[@]}"
  command=()
  if [[ $line != '```'* ]]; then
    command=("${line#'$ '}")
    tried=$((tried + 1))
  fi
done 3< <(sed -n '/^## Try it/,/^## Exit codes/p' README.md)

stop_controller
((tried >= 15)) || fail "README.md has $tried commands"
printf '\n%s\n' "${bold}Everything did what README.md says.${plain}"

#!/usr/bin/env bash
# The whole way, on the control plane that is current: install the CRDs, run the
# controller, and create, scale, look at and delete objects of all four kinds,
# and at last of a kind that is made here, through kubectl.
#
# After each command kubectl is asked whether what the command said is true. The
# first thing that is not ends the demo with an error.
#
# "make demo" runs this; by hand: bin/cluster run -- test/demo.sh </dev/null
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' dim='' plain=''
fi

# How long to wait for what should take a moment; generous for busy machines.
readonly patience=2m

controller=''
controller_lines=''
scratch=$(mktemp -d)
output=$scratch/output

# stop_controller asks the controller to stop, as Ctrl-C does, and returns its
# exit code.
stop_controller() {
  local code=0
  [[ -n $controller ]] || return 0
  kill -INT "$controller" 2>/dev/null || true
  wait "$controller" 2>/dev/null || code=$?
  wait "$controller_lines" 2>/dev/null || true
  controller=''
  return "$code"
}

# start_controller runs the controller in the background, and shows what it says.
start_controller() {
  printf '\n%s\n' "${bold}\$ kubectl imoocpod run-controller --declared-kinds${plain}"
  rm -f "$scratch/lines"
  mkfifo "$scratch/lines"
  kubectl imoocpod run-controller --declared-kinds >"$scratch/lines" 2>&1 &
  controller=$!
  exec 3<"$scratch/lines"
  # It says at once what it acts on.
  local line
  IFS= read -r line <&3 || fail 'the controller has said nothing'
  printf '  │ %s\n' "$line"
  while IFS= read -r line; do
    printf '  │ %s\n' "$line"
    # If this script was killed, the server is gone too and the controller says so.
    kill -0 $$ 2>/dev/null || kill "$controller"
  done <&3 &
  controller_lines=$!
  exec 3<&-
}

finish() {
  local code=$?
  trap - EXIT INT TERM HUP
  stop_controller || true
  rm -rf "$scratch"
  if ((code != 0)); then
    printf '\n%s\n' "${bold}The demo ended early, with exit code $code.${plain}" >&2
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# show runs a command as a person would type it, and keeps what it prints.
show() {
  printf '\n%s\n' "${bold}\$ $*${plain}"
  "$@" | tee "$output" || fail "\"$*\" failed"
}

# printed checks what the last command printed.
printed() {
  grep -qF -- "$1" "$output" || fail "the output does not say \"$1\""
}

# refused shows a command that must not succeed.
refused() {
  printf '\n%s\n' "${bold}\$ $*${plain}"
  if "$@" >"$output" 2>&1; then fail "\"$*\" succeeded"; fi
  cat "$output"
}

# true_that tells what kubectl was asked and has confirmed.
true_that() {
  printf '%s\n' "${dim}✓ $*${plain}"
}

# want compares what kubectl says with what it should say.
want() {
  local what=$1 wanted=$2 got
  shift 2
  got=$("$@") || fail "cannot find out $what"
  [[ $got == "$wanted" ]] || fail "$what: wanted \"$wanted\", got \"$got\""
}

field() {
  kubectl get imoocpod foo -o "jsonpath={.$1}"
}

pods() {
  kubectl get pods -l app=foo -o name "$@"
}

count() {
  pods "$@" | wc -l | tr -d ' '
}

# becomes waits until a field of an object has a value.
becomes() {
  kubectl wait "$1" --for="jsonpath={.$2}=$3" --timeout="$patience" >"$output" 2>&1 || fail "$(cat "$output")"
}

# names prints how many words a list in an object has.
names() {
  kubectl get "$1" -o "jsonpath={.$2[*]}" | wc -w | tr -d ' '
}

# nodes_of prints on how many nodes the pods of an object are.
nodes_of() {
  kubectl get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | wc -l | tr -d ' '
}

# running prints how many pods of an object are Running. Pods that are terminating,
# which takes real containers a moment, keep their phase but not this word.
running() {
  kubectl get pods -l "app=$1" --no-headers 2>/dev/null | awk '$3 == "Running" {n++} END {print n + 0}'
}

# settled waits until foo has n ready pods, and checks that these are all.
settled() {
  local n=$1
  kubectl wait imoocpod/foo --for="jsonpath={.status.readyReplicas}=$n" --timeout="$patience" >"$output" 2>&1 ||
    fail "$(cat "$output")"
  want 'spec.replicas' "$n" field spec.replicas
  want 'status.replicas' "$n" field status.replicas
  want 'status.readyReplicas' "$n" field status.readyReplicas
  ended
  want 'the number of Running pods' "$n" running foo
  want 'the number of pods' "$n" count
}

# ended waits until the pods of foo that are terminating are gone, which takes real
# containers a moment.
ended() {
  local ending
  ending=$(kubectl get pods -l app=foo --no-headers 2>/dev/null | awk '$3 == "Terminating" {print "pod/" $1}')
  # shellcheck disable=SC2086 # a word for each pod
  [[ -z $ending ]] || kubectl wait $ending --for=delete --timeout="$patience" >"$output" 2>&1 || fail "$(cat "$output")"
}

# names_pods checks that the last command told of each pod.
names_pods() {
  local pod
  for pod in $(pods); do
    printed "${pod#pod/}"
  done
}

gone() {
  # Without a match kubectl wait is content at once.
  kubectl wait pods -l app=foo --for=delete --timeout="$patience" >"$output" 2>&1 || fail "$(cat "$output")"
  want 'the number of pods' 0 count
}

printf '%s\n' "This is kubectl $(kubectl version --client -o yaml | sed -n 's/ *gitVersion: //p') with the plugin on its PATH. Lines with │ are the controller's, with ✓ what was checked."

show kubectl imoocpod install
kubectl wait crd --all --for=condition=Established --timeout="$patience" >/dev/null ||
  fail 'a CRD is not established'
true_that 'the CRDs are established'

start_controller

show kubectl imoocpod create foo --replicas 1
settled 1
true_that '1 pod is Running, status.readyReplicas is 1'

show kubectl imoocpod scale foo --replicas 3 --timeout "$patience"
settled 3
true_that '3 pods are Running, status.readyReplicas is 3'

show kubectl imoocpod status foo
names_pods
true_that 'all 3 pods are listed'

show kubectl imoocpod describe foo
names_pods
true_that 'all 3 pods are listed'

# What cannot become ready is said, with the reason and what to do about it.
refused kubectl imoocpod create bad --image no-such-image --replicas 2 --wait --fail-after 2s --timeout "$patience"
printed 'cannot pull its image no-such-image'
printed 'hint: '
show kubectl imoocpod delete bad

# The loop is killed in the middle of its work, and another one goes on from there.
printf '\n%s\n' "${bold}\$ kubectl imoocpod scale foo --replicas 12, and kill -9 of the controller${plain}"
kubectl imoocpod scale foo --replicas 12 >"$output"
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
wait "$controller_lines" 2>/dev/null || true
start_controller
settled 12
true_that '12 pods are Running: none is missing, and none was made twice'
show kubectl imoocpod scale foo --replicas 3 --timeout "$patience"
settled 3

show kubectl imoocpod scale foo --replicas 0 --timeout "$patience"
gone
settled 0
true_that 'no pod is left, status.readyReplicas is 0'

show kubectl imoocpod delete foo
want 'what is left of foo' '' kubectl get imoocpod foo --ignore-not-found -o name
true_that 'foo is gone'

# The other three kinds of the tutorials.
show kubectl imoocpod create appservice/web --replicas 2
becomes deployment/web status.availableReplicas 2
becomes appservice/web status.availableReplicas 2
true_that 'Deployment web has 2 available pods'

show kubectl imoocpod restart appservice/web
show kubectl imoocpod scale appservice/web --replicas 3 --timeout "$patience"
want 'what Deployment web wants' 3 kubectl get deployment web -o 'jsonpath={.spec.replicas}'
true_that 'Deployment web was scaled to 3'

show kubectl imoocpod create helloworld/hello --replicas 2
becomes helloworld/hello status.availableReplicas 2
want 'the number of names in status.nodes' 2 names helloworld/hello status.nodes
true_that 'HelloWorld hello tells the names of its 2 pods'

nodes=$(kubectl get nodes -o name | wc -l | tr -d ' ')
show kubectl imoocpod create mydaemonset/agent --image nginx
becomes mydaemonset/agent status.availableReplicas "$nodes"
want 'the number of nodes with a pod of agent' "$nodes" nodes_of agent
true_that "MyDaemonSet agent has a pod on each of the $nodes nodes"
refused kubectl imoocpod scale mydaemonset/agent --replicas 9
printed "it runs one pod per node ($nodes now)"

show kubectl imoocpod status mydaemonset/agent
printed 'ready'

show kubectl imoocpod delete appservice/web helloworld/hello mydaemonset/agent
want 'what is left' '' kubectl get appservices,helloworlds,mydaemonsets -o name
true_that 'all of them are gone'

# A kind of one's own, from nothing: its CRD says how it is reconciled.
show kubectl imoocpod kinds new Worker --group example.com --image nginx --install
want 'the plan that the CRD declares' pods kubectl get crd workers.example.com -o 'jsonpath={.metadata.annotations.imoocpod\.dev/plan}'
true_that 'the CRD workers.example.com declares a plan'

show kubectl imoocpod create worker/crew --replicas 3 --wait --timeout "$patience"
becomes worker/crew status.readyReplicas 3
want 'the number of pods of crew' 3 running crew
true_that '3 pods of crew are Running'

show kubectl imoocpod scale worker/crew --replicas 1 --timeout "$patience"
becomes worker/crew status.replicas 1
want 'the number of pods of crew' 1 running crew
true_that '1 pod of crew is Running'

show kubectl imoocpod delete worker/crew
want 'what is left' '' kubectl get workers -o name
true_that 'crew is gone'

kill -0 "$controller" 2>/dev/null || fail 'the controller has ended by itself'
printf '\n%s\n' "${bold}^C${plain}"
stop_controller || fail "the controller has ended with exit code $?"
true_that 'the controller has stopped'
printf '\n%s\n' "${bold}Everything did what it said.${plain}"

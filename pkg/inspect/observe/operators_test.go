package observe

import "testing"

// TestOperators checks the operators for which verdict rules were added. Each script represents a class of
// operators.
func TestOperators(t *testing.T) {
	t.Parallel()
	const (
		plain   = `{spec: {replicas: integer}, status: {observedGeneration: integer, phase: string}}`
		counted = `{spec: {replicas: integer}, status: {observedGeneration: integer, replicas: integer, readyReplicas: integer}}`
		groups  = `{spec: {workers: [{groupName: string, replicas: integer, minReplicas: integer, maxReplicas: integer, numOfHosts: integer}]}, status: {observedGeneration: integer}}`
		busy    = `.spec.workers[?(@.groupName=="busy")].replicas`
	)
	for name, test := range map[string]script{
		"a sum of unlike pods is not the count that was changed": {plain, ".spec.replicas", []step{
			{0, `{spec: {replicas: 3}, status: {observedGeneration: 1},
				Pod/it-head: {of: it, is: ready}, Pod/it-worker-a: {of: it, is: ready}, Pod/it-worker-b: {of: it, is: ready}, Pod/it-worker-c: {of: it, is: ready}}`, "ready", ""},
			{20, `{count: 4, status: {observedGeneration: 2}}`, "progressing: ChangeNotSeen", ""},
			{50, `{}`, "progressing: ChangeNotSeen", ""},
			{51, `{Pod/it-worker-d: {of: it, is: ready}}`, "ready", ""},
		}},
		"fewer of unlike pods": {plain, ".spec.replicas", []step{
			{0, `{spec: {replicas: 3}, status: {observedGeneration: 1},
				Pod/it-head: {of: it, is: ready}, Pod/it-worker-a: {of: it, is: ready}, Pod/it-worker-b: {of: it, is: ready}, Pod/it-worker-c: {of: it, is: ready}}`, "ready", ""},
			{20, `{count: 1, status: {observedGeneration: 2}}`, "progressing: ChangeNotSeen", ""},
			{25, `{count: 2, status: {observedGeneration: 3}, Pod/it-worker-c: null}`, "ready", ""},
		}},
		"nor is the sum of groups": {groups, busy, []step{
			{0, `{spec: {workers: [{groupName: busy, replicas: 3}]}, status: {observedGeneration: 1},
				Pod/h: {of: it, is: ready}, Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}, Pod/c: {of: it, is: ready}}`, "ready", ""},
			{20, `{count: 4, status: {observedGeneration: 2}}`, "progressing: ChangeNotSeen", ""},
			{50, `{}`, "progressing: ChangeNotSeen", ""},
		}},
		"a count that was changed and changed back": {plain, ".spec.replicas", []step{
			{0, `{spec: {replicas: 2}, status: {observedGeneration: 1}, Pod/it-a: {of: it, is: ready}, Pod/it-b: {of: it, is: ready}}`, "ready", ""},
			{20, `{count: 3}`, "progressing: GenerationNotSeen", ""},
			{21, `{count: 2, status: {observedGeneration: 3}}`, "ready", ""},
		}},
		"a status lists the counts of each group": {groups, busy, []step{
			{0, `{spec: {workers: [{groupName: busy, replicas: 2}, {groupName: idle, replicas: 1}]},
				status: {observedGeneration: 1, groups: [{group: busy, ready: 1}, {group: idle, ready: 2}]},
				Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}, Pod/c: {of: it, is: ready}}`, "progressing: PodsStarting", ""},
			{10, `{status: {observedGeneration: 1, groups: [{group: busy, ready: 2}, {group: idle, ready: 1}]}}`, "ready", ""},
		}},
		"labels tell the pods of each group": {groups, busy, []step{
			{0, `{spec: {workers: [{groupName: busy, replicas: 2}, {groupName: idle, replicas: 1}]}, status: {observedGeneration: 1},
				Pod/a: {of: it, is: ready, labels: {group: busy}}, Pod/b: {of: it, is: ready, labels: {group: idle}}, Pod/c: {of: it, is: ready, labels: {group: head}}}`, "progressing: PodsMissing", ""},
			{10, `{Pod/d: {of: it, is: starting, labels: {group: busy}}}`, "progressing: PodsStarting", ""},
			{20, `{Pod/d: {is: ready}}`, "ready", ""},
		}},
		"each replica of a group has several hosts": {groups, busy, []step{
			{0, `{spec: {workers: [{groupName: busy, replicas: 2, numOfHosts: 2}, {groupName: idle, replicas: 1}]}, status: {observedGeneration: 1},
				Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}, Pod/c: {of: it, is: ready}}`, "progressing", ""},
			{10, `{Pod/d: {of: it, is: ready}, Pod/e: {of: it, is: ready}}`, "ready", ""},
		}},
		"each replica has several hosts, and no count is known": {groups, "", []step{
			{0, `{spec: {workers: [{groupName: busy, replicas: 2, numOfHosts: 2}, {groupName: idle, replicas: 1}]}, status: {observedGeneration: 1},
				Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}, Pod/c: {of: it, is: ready}}`, "progressing", ""},
			{10, `{Pod/d: {of: it, is: ready}, Pod/e: {of: it, is: ready}}`, "ready", ""},
		}},
		"a pair of counts in the status beats sums": {`{spec: {head: {replicas: integer}, workers: {replicas: integer}}, status: {observedGeneration: integer, desiredWorkers: integer, readyWorkers: integer}}`, ".spec.workers.replicas", []step{
			{0, `{spec: {head: {replicas: 5}, workers: {replicas: 2}}, status: {observedGeneration: 1, desiredWorkers: 2, readyWorkers: 1},
				Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}}`, "progressing: PodsStarting", ""},
			{10, `{status: {observedGeneration: 1, desiredWorkers: 2, readyWorkers: 2}}`, "ready", ""},
		}},
		"a failed pod is wanted if the count is unknown": {`{spec: {}, status: {observedGeneration: integer}}`, "", []step{
			{0, `{spec: {}, status: {observedGeneration: 1}, Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: failed}, Pod/c: {of: it, is: failed}}`, "progressing: PodEnded", ""},
			{10, `{Pod/b: {is: ready}, Pod/c: null}`, "ready", ""},
		}},
		"a failed job": {`{spec: {}, status: {observedGeneration: integer}}`, "", []step{
			{0, `{spec: {}, status: {observedGeneration: 1}, Pod/a: {of: Job/i, is: ready},
				Job/i: {of: it, spec: {}, status: {active: 1, ready: 1}}, Job/j: {of: it, spec: {}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}}`, "progressing: ChildNotReady", ""},
			{10, `{Job/k: {of: it, spec: {}, status: {conditions: [{type: Complete, status: "True"}]}}}`, "ready", ""},
		}},
		"a count above its maximum": {`{spec: {size: integer, maxSize: integer}, status: {observedGeneration: integer}}`, ".spec.size", []step{
			{0, `{spec: {size: 4, maxSize: 3}, status: {observedGeneration: 1}, Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}, Pod/c: {of: it, is: ready}}`, "progressing: CountOutOfBounds", ""},
			{10, `{count: 3, status: {observedGeneration: 2}}`, "ready", ""},
		}},
		"a group below its minimum": {groups, busy, []step{
			{0, `{spec: {workers: [{groupName: busy, replicas: 1, minReplicas: 2, maxReplicas: 5}]}, status: {observedGeneration: 1}, Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}}`, "progressing: CountOutOfBounds", ""},
		}},
		"no shards, and pods": {`{spec: {shards: integer}, status: {observedGeneration: integer}}`, ".spec.shards", []step{
			{0, `{spec: {shards: 0}, status: {observedGeneration: 1}, Pod/a: {of: it, is: ready}}`, "progressing: PodsSurplus", ""},
			{10, `{Pod/a: null}`, "ready", ""},
		}},
		"a generation that is declared and never written": {counted, ".spec.replicas", []step{
			{0, `{spec: {replicas: 1}, status: {replicas: 1, readyReplicas: 1}, Pod/a: {of: it, is: ready}}`, "ready", ""},
			{20, `{count: 2}`, "progressing", ""},
			{25, `{status: {replicas: 2, readyReplicas: 2}, Pod/b: {of: it, is: ready}}`, "ready", ""},
		}},
		"no conditions, but a status that was written": {`{spec: {replicas: integer}, status: {url: string, conditions: [{type: string, status: string}]}}`, ".spec.replicas", []step{
			{0, `{spec: {replicas: 1}, Pod/a: {of: it, is: ready}}`, "progressing: NeverSeen", ""},
			{1, `{status: {url: here}}`, "ready", ""},
			{20, `{count: 2}`, "progressing", ""},
			{21, `{Pod/b: {of: it, is: starting}, status: {url: there}}`, "progressing", ""},
			{25, `{Pod/b: {is: ready}}`, "ready", ""},
		}},
		"a partition of a strategy with another name": {`{spec: {replicas: integer, rolloutStrategy: {rolling: {partition: integer}}}, status: {observedGeneration: integer, replicas: integer, readyReplicas: integer, updatedReplicas: integer}}`, ".spec.replicas", []step{
			{0, `{spec: {replicas: 3, template: {spec: {containers: [{name: main}]}}, rolloutStrategy: {rolling: {partition: 2}}}, status: {observedGeneration: 1, replicas: 3, readyReplicas: 3, updatedReplicas: 0},
				Pod/a: {of: it, is: ready}, Pod/b: {of: it, is: ready}, Pod/c: {of: it, is: ready}}`, "progressing: PodsOutdated", ""},
			{10, `{status: {observedGeneration: 1, replicas: 3, readyReplicas: 3, updatedReplicas: 1}}`, "paused: Partitioned", ""},
		}},
		"a switch that no controller has seen": {`{spec: {suspend: boolean}, status: {ready: integer}}`, "", []step{
			{0, `{spec: {suspend: true}}`, "not reconciled", ""},
			{20, `{Pod/a: {of: it, is: ready}, status: {ready: 1}}`, "paused", ""},
			{30, `{spec: {suspend: true, other: 1}}`, "progressing", ""},
			{40, `{Pod/a: null, status: {ready: 0}}`, "paused", ""},
		}},
		"its own pods fail while its controller is busy": {counted, ".spec.replicas", []step{
			{0, `{spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}, Pod/a: {of: it, is: crashing}}`, "failed: CrashLoop", ""},
			{20, `{count: 2}`, "progressing: CrashLoop", ""},
			{50, `{}`, "progressing: CrashLoop", ""},
		}},
		"a switch that is off, and a stale word": {`{spec: {suspend: boolean, replicas: integer}, status: {phase: string}}`, ".spec.replicas", []step{
			{0, `{spec: {suspend: true, replicas: 1}, status: {phase: Suspended}}`, "paused", ""},
			{20, `{spec: {suspend: false, replicas: 1}}`, "progressing", ""},
			{21, `{Pod/a: {of: it, is: ready}}`, "progressing: ConditionFalse", ""},
			{25, `{status: {phase: Running}}`, "ready", ""},
		}},
		"an object that has ended well": {`{spec: {replicas: integer}, status: {observedGeneration: integer, conditions: [{type: string, status: string}]}}`, ".spec.replicas", []step{
			{0, `{spec: {replicas: 1}, status: {observedGeneration: 1}, Pod/a: {of: it, is: ready}}`, "ready", ""},
			{9, `{Pod/a: {is: succeeded}}`, "progressing", ""},
			{10, `{status: {observedGeneration: 1, conditions: [{type: Complete, status: "True"}]}}`, "ready", ""},
		}},
		"a condition of work that is not done": {`{spec: {replicas: integer}, status: {observedGeneration: integer, conditions: [{type: string, status: string}]}}`, ".spec.replicas", []step{
			{0, `{spec: {replicas: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: UpgradeInProgress, status: "True"}]}, Pod/a: {of: it, is: ready}}`, "progressing: ConditionFalse", ""},
			{5, `{status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: RestartingPods, status: "True"}]}}`, "progressing: ConditionFalse", ""},
			{9, `{status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}, {type: RestartingPods, status: "False"}]}}`, "ready", ""},
		}},
		"a pod that lost its owner before it goes": {plain, ".spec.replicas", []step{
			{0, `{spec: {replicas: 2}, status: {observedGeneration: 1}, Pod/it-a: {of: it, is: ready}, Pod/it-b: {of: it, is: ready}, Pod/it-c: {of: it, is: ready}}`, "progressing: PodsSurplus", ""},
			{5, `{Pod/it-c: {of: ""}}`, "ready", "progressing: PodsSurplus"},
			{6, `{Pod/it-c: null}`, "ready", ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

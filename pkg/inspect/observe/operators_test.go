package observe

import "testing"

// What operators do that no rule was written for at first. Each script shows a class, whatever
// the names are.
func TestOperators(t *testing.T) {
	t.Parallel()
	const (
		plain  = `{spec: {replicas: integer}, status: {observedGeneration: integer, phase: string}}`
		groups = `{spec: {workers: [{groupName: string, replicas: integer, minReplicas: integer, maxReplicas: integer, numOfHosts: integer}]}, status: {observedGeneration: integer}}`
		busy   = `.spec.workers[?(@.groupName=="busy")].replicas`
	)
	for name, test := range map[string]script{
		"a sum of unlike pods is not the count that was changed": {plain, ".spec.replicas", []step{
			{0, `{spec: {replicas: 3}, status: {observedGeneration: 1},
				Pod/it-head: {of: it, is: ready}, Pod/it-worker-a: {of: it, is: ready}, Pod/it-worker-b: {of: it, is: ready}, Pod/it-worker-c: {of: it, is: ready}}`, "ready", ""},
			{20, `{count: 4, status: {observedGeneration: 2}}`, "progressing: ChangeNotSeen", ""},
			{50, `{}`, "progressing: ChangeNotSeen", ""},
			{51, `{Pod/it-worker-d: {of: it, is: ready}}`, "ready", ""},
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
			{0, `{spec: {}, status: {observedGeneration: 1}, Pod/a: {of: it, is: ready}, Job/j: {of: it, spec: {}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}}`, "progressing: ChildNotReady", ""},
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

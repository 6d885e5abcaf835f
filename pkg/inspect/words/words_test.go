package words

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The most serious word decides in CamelCase, SNAKE_CASE, kebab-case, and prose.
func TestOf(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]Meaning{
		"": Nothing, "Contemplative": Nothing, "Nothing to do": Nothing, "Nothing": Nothing, "VolumeBound": Nothing, "NoErrors": Nothing,
		"Running": Ready, "HEALTH_OK": Ready, "HEALTH_WARN": Working, "Cluster in healthy state": Ready, "up-to-date": Ready, "streaming": Ready,
		"Succeeded": Done, "COMPLETED": Done,
		"Suspended": Paused, "RequiresApproval": Paused, "Hibernating": Paused,
		"Pending": Working, "ScalingUp": Working, "Scaling Up": Working, "in-progress": Working, "NotReady": Working, "DEPLOYED_NOT_READY": Working, "NonCompliant": Working, "Contemplating": Working, "BackingUp": Working, "Offline": Working, "Down": Working, "ScaledDown": Nothing, "Terminated": Working, "Dead": Working,
		"red": Broken, "Abnormal": Broken, "ROLLED_BACK": Broken, "PartiallyFailed": Failed, "UpdateFailed": Broken, "FailedNotVisible": Broken, "CrashLoopBackOff": Broken,
		"Failed": Failed, "ERROR": Failed, "Cancelled": Failed, "CANCELED": Failed, "Error, because the server answers with a long and winding text": Failed,
	} {
		if got := Of(state); got != want {
			t.Errorf("Of(%q) = %d, want %d", state, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"EKSControlPlaneUpdating":  {"eks", "control", "plane", "updating"},
		"DEPLOYED_NOT_READY":       {"deployed", "not", "ready"},
		"ResourcesUpToDate":        {"resources", "uptodate"},
		"Cluster in healthy state": {"cluster", "in", "healthy", "state"},
		"":                         nil,
	} {
		if got := Split(name); !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for _, test := range []struct {
		kind            string
		status          metav1.ConditionStatus
		reason, message string
		want            Meaning
	}{
		{"Ready", yes, "", "", Ready},
		{"Ready", no, "", "", Working},
		{"Ready", unknown, "Failed", "", Working},
		{"Ready", no, "Progressing", "0 of 3 pods failed", Working},
		{"Ready", no, "InstallFailed", "", Broken},
		{"Healthy", no, "UnhealthyRevision", "it has no condition of type \"Available\" yet", Working},
		{"Ready", no, "DependencyNotFound", "", Broken},
		{"Ready", no, "NotSupported", "", Broken},
		{"Ready", no, "NoControllerFound", "", Broken},
		{"Ready", no, "", "the query is invalid", Broken},
		{"Ready", no, "Migrating", "Error: checksum mismatch", Broken},
		{"Ready", no, "Migrating", "the last migration was an error", Working},
		{"example.com/Ready", yes, "", "", Ready},
		{"DeadLetterSinkResolved", yes, "", "", Ready},
		{"ScaledDown", yes, "", "", Nothing},
		{"ResolvedRefs", yes, "", "", Ready},
		{"AllReplicasReady", yes, "", "", Ready},
		{"Synced", no, "", "", Working},
		{"Healthy", no, "", "", Working},
		{"Available", no, "", "", Working},
		{"ResourcesUpToDate", no, "", "", Working},
		{"ACK.Terminal", yes, "", "", Failed},
		{"Complete", yes, "Complete", "", Done},
		{"Complete", yes, "JobFailed", "", Broken},
		{"Scheduled", yes, "", "", Nothing},
		{"Scheduled", no, "SchedulingFailed", "", Working},
		{"ParametersGenerated", no, "ErrorOccurred", "", Broken},
		{"Active", no, "", "", Nothing},
		{"NotReady", yes, "Creating", "", Working},
		{"NotReady", yes, "TimeoutException", "", Broken},
		{"Warning", yes, "DeprecatedFields", "", Nothing},
		{"NoWarnings", no, "", "", Nothing},
		{"NotReady", no, "", "", Nothing},
		{"RolloutProgressing", yes, "", "", Working},
		{"RollingOut", yes, "", "", Working},
		{"RollingUpdate", unknown, "", "", Nothing},
		{"EKSControlPlaneCreating", no, "created", "", Nothing},
		{"ScalingLimited", yes, "", "", Nothing},
		{"RollingRestart", yes, "", "", Working},
		{"ReplacingNodes", yes, "", "", Working},
		{"ReplacingNodes", no, "", "", Nothing},
		{"Remediating", yes, "", "", Working},
		{"Paused", yes, "", "", Paused},
		{"Paused", no, "", "", Nothing},
		{"Hibernating", yes, "Hibernating", "", Paused},
		{"Synced", no, "ReconcilePaused", "", Paused},
		{"Ready", no, "ContainersStopped", "", Working},
		{"ErrorFree", yes, "", "", Ready},
		{"ErrorHandlingConfigured", yes, "", "", Nothing},
		{"TimeoutConfigured", no, "", "", Working},
		{"BookingExpired", yes, "", "", Nothing},
		{"FetchFailed", yes, "", "", Broken},
		{"ErrorOccurred", yes, "", "", Failed},
		{"LastBackupFailed", yes, "", "", Nothing},
		{"Degraded", yes, "", "", Broken},
		{"Stalled", yes, "", "", Failed},
		{"Stalled", no, "", "", Nothing},
		{"Progressing", yes, "", "", Working},
		{"Progressing", yes, "NewReplicaSetAvailable", "", Ready},
		{"Progressing", no, "", "", Nothing},
		{"Progressing", no, "RolloutAborted", "", Broken},
		{"Progressing", unknown, "RolloutPaused", "", Nothing},
		{"Running", yes, "Running", "", Working},
		{"Running", yes, "Successful", "", Done},
		{"", yes, "", "", Nothing},
	} {
		c := metav1.Condition{Type: test.kind, Status: test.status, Reason: test.reason, Message: test.message}
		if got := Condition(c); got != test.want {
			t.Errorf("condition %q is %s (%s: %s): meaning = %d, want %d", test.kind, test.status, test.reason, test.message, got, test.want)
		}
	}
}

// A condition type describes the whole object if none of its words name a part.
func TestOverall(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{"Ready": true, "Synced": true, "AllReplicasReady": true, "NetworkReady": false, "CronJobAvailable": false} {
		if Overall(kind) != want {
			t.Errorf("Overall(%q) = %t, want %t", kind, !want, want)
		}
	}
}

// Conditions without a type or a status are ignored. If the time is invalid, only the time is ignored.
func TestConditions(t *testing.T) {
	t.Parallel()
	got := Conditions([]any{
		map[string]any{"type": "A"}, map[string]any{"status": "True"}, "what",
		map[string]any{"type": "B", "status": "True", "reason": "R", "observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T10:00:00Z"},
		map[string]any{"type": "C", "status": "False", "severity": "Error", "lastTransitionTime": "today"},
	})
	want := []metav1.Condition{
		{Type: "B", Status: metav1.ConditionTrue, Reason: "R", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Local())},
		{Type: "C", Status: metav1.ConditionFalse, Reason: "Error"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("conditions = %+v, want %+v", got, want)
	}
	if Conditions("odd") != nil {
		t.Error("Conditions() of a string is not nil")
	}
}

// Anyone who can write a status can add many counts. The cost of reading counts is linear.
func TestCostOfCounts(t *testing.T) { // not parallel, because it counts allocations
	cost := func(size int) uint64 {
		reported := map[string]any{}
		for i := range size {
			reported[fmt.Sprint("readyPart", i)], reported[fmt.Sprint("part", i)] = int64(1), int64(2)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if all := Read("Set", map[string]any{"status": reported}); len(all) != size {
			t.Fatalf("%d pairs of counts result in %d claims, want one for each pair", size, len(all))
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	if half, all := cost(200), cost(400); all > 5*half/2 {
		t.Errorf("400 pairs of counts cost %d allocations, want at most 2.5 times the %d of 200 pairs", all, half)
	}
}

// Read ignores fields with long paths, and limits the number of claims.
func TestHostileStatus(t *testing.T) {
	t.Parallel()
	parts, many := map[string]any{}, map[string]any{}
	for i := range 5000 {
		parts[fmt.Sprint("a", i, "State")] = "failed"
		many[fmt.Sprint("part", i)] = map[string]any{"state": "failed"}
	}
	for length, want := range map[int]int{longestPath / 2: len(parts), 2 * longestPath: 0} {
		if all := Read("Set", map[string]any{"status": map[string]any{strings.Repeat("x", length): parts}}); len(all) != want {
			t.Errorf("fields below a name of %d bytes result in %d claims, want %d", length, len(all), want)
		}
	}
	if all := Read("Set", map[string]any{"status": many}); len(all) != mostClaims+1 {
		t.Errorf("%d states result in %d claims, want %d", len(many), len(all), mostClaims+1)
	}
}

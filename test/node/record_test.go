package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recordedFrom returns the start time of every recording.
func recordedFrom() time.Time { return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC) }

// record writes all observed states of an object, of its pods, and of the events about them to a
// file for the tests of pkg/inspect/status. Each state is a line of JSON with its time, in order.
// record replaces values that identify this machine, or differ between recordings.
//
// file is the file name without its extension. nodes are the names of nodes to record, too. Without
// -record, record does nothing.
func (w *witness) record(t *testing.T, name, file string, nodes ...string) {
	t.Helper()
	if *record == "" {
		return
	}
	w.Lock()
	changes := w.changes
	w.Unlock()
	r := recorder{names: map[string]string{}, nodes: nodes}
	var lines []string
	last := map[string]string{}
	for _, c := range changes {
		if !r.concerns(c.obj, name) {
			continue
		}
		if r.begin.IsZero() {
			r.begin = c.at
		}
		data, err := json.Marshal(r.scrub(c.obj))
		if err != nil {
			t.Fatal(err)
		}
		key := c.obj.GetKind() + "/" + string(c.obj.GetUID())
		line := r.rename(string(data))
		if last[key] == line && !c.gone {
			continue // only dropped fields changed
		}
		last[key] = line
		gone := ""
		if c.gone {
			gone = `"gone":true,`
		}
		lines = append(lines, fmt.Sprintf(`{"at":%q,%s"object":%s}`, r.shift(c.at), gone, line))
	}
	if err := os.WriteFile(filepath.Join(*record, file+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recorder normalizes recordings, so that they do not depend on the machine.
type recorder struct {
	begin time.Time
	// names maps texts that differ between recordings, such as UIDs, to their replacements.
	names map[string]string
	nodes []string
}

// concerns reports whether u belongs in the recording of the named object. If so, it also learns
// the identifiers in u.
func (r *recorder) concerns(u *unstructured.Unstructured, name string) bool {
	about, _, _ := unstructured.NestedString(u.Object, "involvedObject", "name")
	switch u.GetKind() {
	case "ImoocPod":
		if u.GetName() != name {
			return false
		}
		r.learn(string(u.GetUID()), "owner")
	case "Pod":
		if !ofPod(u.GetName(), name) {
			return false
		}
		r.learn(string(u.GetUID()), fmt.Sprintf("pod-%d", len(r.names)))
		hash, _, _ := strings.Cut(strings.TrimPrefix(u.GetName(), name+"-"), "-")
		r.learn(hash, "2d5dfdbb")
	case "Event":
		if about != name && !ofPod(about, name) {
			return false
		}
		r.learn(string(u.GetUID()), fmt.Sprintf("event-%d", len(r.names)))
	case "Node":
		if !slices.Contains(r.nodes, u.GetName()) {
			return false
		}
		r.learn(string(u.GetUID()), fmt.Sprintf("node-%d", len(r.names)))
	default:
		return false
	}
	return true
}

func (r *recorder) learn(word, known string) {
	if _, learnt := r.names[word]; !learnt {
		r.names[word] = known
	}
}

// scrub returns the fields of an object that describe its state.
func (r *recorder) scrub(u *unstructured.Unstructured) map[string]any {
	meta := map[string]any{}
	for _, field := range []string{"name", "uid", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers"} {
		if value, found, _ := unstructured.NestedFieldCopy(u.Object, "metadata", field); found {
			meta[field] = value
		}
	}
	kept := map[string]any{"kind": u.GetKind(), "metadata": meta}
	fields := map[string][][]string{
		"ImoocPod": {{"spec", "replicas"}, {"status"}},
		"Pod":      {{"spec", "nodeName"}, {"spec", "restartPolicy"}, {"spec", "terminationGracePeriodSeconds"}, {"spec", "containers"}, {"spec", "initContainers"}, {"status"}},
		"Node":     {{"spec", "taints"}, {"status", "conditions"}},
		"Event":    {{"involvedObject", "kind"}, {"involvedObject", "name"}, {"involvedObject", "uid"}, {"involvedObject", "fieldPath"}, {"type"}, {"reason"}, {"message"}, {"count"}, {"firstTimestamp"}, {"lastTimestamp"}, {"eventTime"}, {"series"}, {"source", "component"}, {"reportingComponent"}},
	}
	for _, path := range fields[u.GetKind()] {
		if value, found, _ := unstructured.NestedFieldCopy(u.Object, path...); found && value != nil && value != "" {
			_ = unstructured.SetNestedField(kept, value, path...) // no error, because every parent is a map
		}
	}
	each(kept, []string{"status", "conditions"}, func(c map[string]any) { delete(c, "lastHeartbeatTime") })
	for _, field := range []string{"hostIP", "hostIPs", "podIP", "podIPs", "qosClass", "resources", "allocatedResources"} {
		unstructured.RemoveNestedField(kept, "status", field)
	}
	for _, list := range []string{"containerStatuses", "initContainerStatuses"} {
		each(kept, []string{"status", list}, func(c map[string]any) {
			for _, field := range []string{"containerID", "imageID", "allocatedResources", "resources", "user", "volumeMounts", "allocatedResourcesStatus"} {
				delete(c, field)
			}
			for _, state := range []string{"state", "lastState"} {
				unstructured.RemoveNestedField(c, state, "terminated", "containerID")
			}
		})
	}
	for _, list := range []string{"containers", "initContainers"} {
		each(kept, []string{"spec", list}, func(c map[string]any) {
			for _, field := range []string{"terminationMessagePath", "terminationMessagePolicy", "securityContext", "volumeMounts", "envFrom"} {
				delete(c, field)
			}
		})
	}
	return kept
}

// each calls do with each map in a list of an object.
func each(object map[string]any, path []string, do func(map[string]any)) {
	list, found, _ := unstructured.NestedSlice(object, path...)
	if !found {
		return
	}
	for _, element := range list {
		if m, is := element.(map[string]any); is {
			do(m)
		}
	}
	_ = unstructured.SetNestedSlice(object, list, path...) // the path exists
}

var (
	timestamp = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	podIP     = regexp.MustCompile(`\b10\.200\.\d+\.\d+\b`)
	digest    = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	rootDir   = regexp.MustCompile(`/tmp/imoocpod-plane-\d+/\d+`)
)

// rename replaces names, times, and addresses that differ between recordings.
func (r *recorder) rename(line string) string {
	for word, known := range r.names {
		line = strings.ReplaceAll(line, word, known)
	}
	line = timestamp.ReplaceAllStringFunc(line, func(s string) string {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return s
		}
		// A timestamp in whole seconds stays in whole seconds.
		shifted := r.shift(at)
		if !strings.Contains(s, ".") {
			shifted = recordedFrom().Add(at.Sub(r.begin.Truncate(time.Second))).Format(time.RFC3339)
		}
		return shifted
	})
	line = podIP.ReplaceAllString(line, "10.200.0.2")
	line = digest.ReplaceAllString(line, strings.Repeat("0", 64))
	return rootDir.ReplaceAllString(line, "/node")
}

func (r *recorder) shift(at time.Time) string {
	return recordedFrom().Add(at.Sub(r.begin.Truncate(time.Second))).Format("2006-01-02T15:04:05.000000Z07:00")
}

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

// moment is a line of a recording: the state of an object at a time, or the last state of a deleted object.
type moment struct {
	At     time.Time      `json:"at"`
	Gone   bool           `json:"gone,omitempty"`
	Object map[string]any `json:"object"`
}

// rootDir matches the directory of the control plane in messages. The directory differs between runs.
var rootDir = regexp.MustCompile(`/tmp/imoocpod-plane-\d+/\d+`)

// record writes all observed states of an object, of its pods, and of the events about them to a
// file for the tests of pkg/inspect/status. Each state is a line of JSON with its time, in order.
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
	var recording []byte
	last := map[string]string{}
	for _, c := range changes {
		if !concerns(c.obj, name, nodes) {
			continue
		}
		kept := keep(c.obj)
		key := c.obj.GetKind() + "/" + string(c.obj.GetUID())
		state := fmt.Sprint(kept)
		if last[key] == state && !c.gone {
			continue // only fields that are not kept have changed
		}
		last[key] = state
		line, err := json.Marshal(moment{At: c.at.UTC(), Gone: c.gone, Object: kept})
		if err != nil {
			t.Fatal(err)
		}
		recording = append(append(recording, rootDir.ReplaceAll(line, []byte("/node"))...), '\n')
	}
	if err := os.WriteFile(filepath.Join(*record, file+".jsonl"), recording, 0o644); err != nil {
		t.Fatal(err)
	}
}

// concerns reports whether an object belongs in the recording of the named object.
func concerns(u *unstructured.Unstructured, name string, nodes []string) bool {
	switch u.GetKind() {
	case "ImoocPod":
		return u.GetName() == name
	case "Pod":
		return ofPod(u.GetName(), name)
	case "Event":
		about, _, _ := unstructured.NestedString(u.Object, "involvedObject", "name")
		return about == name || ofPod(about, name)
	case "Node":
		return slices.Contains(nodes, u.GetName())
	}
	return false
}

// keptFields lists, by kind, the fields that describe the state of an object, but not the machine.
func keptFields() map[string]string {
	return map[string]string{
		"ImoocPod": "spec.replicas status",
		"Pod": "spec.nodeName spec.restartPolicy spec.terminationGracePeriodSeconds spec.containers spec.initContainers " +
			"status.phase status.reason status.message status.startTime status.conditions " +
			"status.containerStatuses status.initContainerStatuses",
		"Node": "spec.taints status.conditions",
		"Event": "involvedObject.kind involvedObject.name involvedObject.uid involvedObject.fieldPath type reason message count " +
			"firstTimestamp lastTimestamp eventTime series source.component reportingComponent",
	}
}

// keep returns the fields of an object that belong in a recording.
func keep(u *unstructured.Unstructured) map[string]any {
	kept := map[string]any{"kind": u.GetKind()}
	const meta = "metadata.name metadata.uid metadata.generation metadata.creationTimestamp metadata.deletionTimestamp " +
		"metadata.deletionGracePeriodSeconds metadata.ownerReferences metadata.finalizers "
	for field := range strings.FieldsSeq(meta + keptFields()[u.GetKind()]) {
		path := strings.Split(field, ".")
		if value, found, _ := unstructured.NestedFieldCopy(u.Object, path...); found && value != nil && value != "" {
			_ = unstructured.SetNestedField(kept, value, path...) // no error, because every parent is a map
		}
	}
	return kept
}

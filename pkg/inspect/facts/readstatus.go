package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// read sets the counts and other evidence of an object that another program reconciles.
func (f Facts) read(o *status.Object, obj map[string]any) {
	o.Count, o.Several = f.Count, f.Several
	if f.Unit != "pod" {
		o.Unit = f.Unit
	}
	f.readGeneration(o, obj)
	if len(f.Desired) > 0 {
		o.Desired = ptr.Deref(number(obj, f.Desired, f.Zero), 0)
	}
	if n, found := wholeAt(obj, f.ScaleCount); found {
		o.ScaleCount = new(Pods(n))
	}
	o.Selects = textAt(obj, f.ScaleSelector) != ""
	f.readCounts(o, obj)
	if !f.builtIn || f.Generation == GenerationNone {
		readWord(o, obj)
	}
	o.OnlyCounted = onlyCounted(o.Managers, f.Count, obj)
	f.judge(o, obj)
}

// readGeneration sets the observed generation. It marks the object as untracked if no generation is expected.
func (f Facts) readGeneration(o *status.Object, obj map[string]any) {
	seen := valueAt(obj, ".status.observedGeneration")
	n, err := strconv.ParseInt(fmt.Sprint(seen), 10, 64)
	switch {
	case err == nil: // a string that is not a number is a hash, which is ignored
		o.ObservedGeneration = cmp.Or(n, -1)
	case seen == "": // a controller that writes strings has not seen the object yet
	case f.Generation == GenerationField, f.Generation == GenerationText:
		// The controller has not written a generation yet. If it reports Ready without one, it never writes the field.
		o.Untracked = f.builtIn && o.Generation == 0 || !f.builtIn && meta.IsStatusConditionTrue(o.Conditions, apis.ConditionReady)
	default:
		o.Untracked = true
		o.Conditioned = f.Conditions && !f.builtIn
	}
}

// readTracked reads the observed generation from the conditions if the status itself has none.
func readTracked(o *status.Object, reported map[string]any) {
	if !o.Untracked && o.ObservedGeneration != 0 {
		return
	}
	for _, c := range fieldpath.Objects(reported["conditions"]) {
		if seen, is := fieldpath.Integer(c["observedGeneration"]); is {
			o.Untracked, o.ObservedGeneration = false, cmp.Or(max(o.ObservedGeneration, seen), -1)
		}
	}
}

// lag returns an unmet expression if the observed generation of a referenced object is outdated, or "". In an Argo
// Rollout, .status.workloadObservedGeneration must equal the annotation rollout.argoproj.io/workload-generation.
func lag(obj map[string]any) string {
	for key, wanted := range fieldpath.Object(obj, "metadata", "annotations") {
		of, is := strings.CutSuffix(key[strings.LastIndex(key, "/")+1:], "-generation")
		path := ".status." + of + "ObservedGeneration"
		if seen := valueAt(obj, path); is && seen != nil && fmt.Sprint(seen) != wanted {
			return fmt.Sprintf("{%s}=%s", path, wanted)
		}
	}
	return ""
}

func (f Facts) readCounts(o *status.Object, obj map[string]any) {
	ready := number(obj, f.Ready, f.Zero)
	o.Ready, o.ReadyUnknown = ptr.Deref(ready, 0), ready == nil
	o.Current = ptr.Deref(number(obj, f.Current, f.Zero), o.Ready) // at least the ready pods exist
	o.Available = number(obj, f.Available, f.Zero)
	var zero []string
	if hasContainers(obj) {
		zero = f.Zero
	}
	o.Updated = number(obj, f.Updated, zero)
	if o.Updated != nil && f.Ordinal && textAt(obj, f.OnDelete) != "OnDelete" && valueAt(obj, ".spec.updateStrategy.rollingUpdate") == nil {
		rolling := textAt(obj, ".status.currentRevision") != textAt(obj, ".status.updateRevision")
		if rolling && o.Desired > 0 && *o.Updated >= o.Desired {
			// The controller has not yet declared the update complete.
			o.Updated = new(o.Desired - 1)
		}
	}
}

func hasContainers(obj map[string]any) bool {
	containers, _ := valueAt(obj, ".spec.template.spec.containers").([]any)
	return len(containers) > 0
}

// readWord sets the phase, the message, the claims, and the names of the status fields.
func readWord(o *status.Object, obj map[string]any) {
	phaseFields := []string{".status.phase", ".status.state", ".status.updateStatus", ".status.state.phase"}
	for at, paths := range map[*string][]string{&o.Word.Phase: phaseFields, &o.Word.Message: {".status.message", ".status.reason"}} {
		for _, path := range paths {
			*at = cmp.Or(*at, textAt(obj, path))
		}
	}
	o.Claims = words.Read(o.Kind, obj)
	for i, c := range o.Claims {
		if c.Text == o.Word.Phase && slices.Contains(phaseFields, c.Path) {
			o.Claims[i].Path, o.Claims[i].Text = "", "its controller reports: "+o.Word.String()
		}
	}
	o.Fields = slices.Sorted(maps.Keys(fieldpath.Object(obj, "status")))
}

// readExistence sets o.Exists for a built-in object whose status never shows whether the object is ready.
// For a LoadBalancer Service without an address, it adds a claim instead.
func readExistence(o *status.Object, obj map[string]any) {
	reason := "it exists"
	switch o.Resource {
	case "services":
		if textAt(obj, ".spec.type") == string(corev1.ServiceTypeLoadBalancer) && valueAt(obj, ".status.loadBalancer.ingress") == nil {
			o.Claims = append(o.Claims, words.Claim{Text: "its load balancer has no address", Meaning: words.Working})
			return
		}
	case kinds.CronJobs:
		if valueAt(obj, ".spec.suspend") == true {
			reason = "it exists, and is suspended"
		}
	case "namespaces", "ingresses.networking.k8s.io", "poddisruptionbudgets.policy", "resourcequotas",
		"flowschemas.flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", "validatingadmissionpolicies.admissionregistration.k8s.io":
	default:
		if obj["status"] != nil {
			return
		}
	}
	o.Exists = reason
}

// judge evaluates ReadyWhen and FailedWhen. An expression with an error is false. ReadyWhen expressions from a profile
// are ignored if the object has none of their fields, because older controllers do not write them.
func (f Facts) judge(o *status.Object, obj map[string]any) {
	reported := func(e fieldpath.Expression) bool { return valueAt(obj, fieldOf(e)) != nil }
	if len(f.ReadyWhen) > 0 && (!f.profiled || slices.ContainsFunc(f.ReadyWhen, reported)) {
		unmet := slices.IndexFunc(f.ReadyWhen, func(e fieldpath.Expression) bool { return !holdsOf(e, obj) })
		if o.Word.Ready = new(unmet < 0); unmet >= 0 {
			o.Word.Unmet = f.ReadyWhen[unmet].String()
		}
	}
	if unmet := lag(obj); unmet != "" {
		o.Word.Ready, o.Word.Unmet = new(false), unmet
		o.Claims = append(o.Claims, words.Claim{Text: unmet, Meaning: words.Working}) // without this claim, the object could count as complete
	}
	failed := slices.IndexFunc(f.FailedWhen, func(e fieldpath.Expression) bool { return holdsOf(e, obj) })
	if o.Word.Failed = failed >= 0; o.Word.Failed && o.Word.String() == "" {
		o.Word.Phase = f.FailedWhen[failed].String()
	}
}

func fieldOf(e fieldpath.Expression) string { return strings.Trim(e.Path, "{}") }

func holdsOf(e fieldpath.Expression, obj map[string]any) bool {
	holds, err := e.Holds(obj)
	return err == nil && holds
}

// Settle adds the facts that depend on the desired count: the pods that a partition keeps, a pause, the
// bounds of the count, and the groups of pods with their total.
func (f Facts) Settle(o *status.Object, obj *unstructured.Unstructured, count *fieldpath.Path) {
	switch {
	case f.Unit == "shard":
		o.Total = f.ofShards(o.Desired, obj.Object)
	case o.Several && count != nil:
		o.Total = total(obj.Object, *count, f.OtherCounts)
	}
	if !f.builtIn && (o.Several || o.NoCount) {
		o.Groups = f.groups(obj.Object)
	}
	if count != nil && !f.builtIn {
		if n, found, err := count.Get(obj.Object); found && err == nil {
			o.Wanted, o.Bounds = Pods(n), bounds(obj.Object, *count)
		}
	}
	f.pause(o, obj.Object)
}

// onlyCounted reports whether the manager of the last change of the spec owns no field of the spec except the count.
func onlyCounted(managers []metav1.ManagedFieldsEntry, count string, obj map[string]any) bool {
	spec := smd.PathElement{FieldName: new("spec")}
	var last *metav1.ManagedFieldsEntry
	fields := 0
	for i, m := range managers {
		recorded := fieldpath.Recorded(m)
		ofSpec := recorded.WithPrefix(spec)
		if m.Subresource == "status" || m.Time == nil || ofSpec.Empty() && !recorded.Has(smd.Path{spec}) {
			continue
		}
		if last != nil && last.Time.Equal(m.Time) {
			return false // the order of the two writes is unknown
		}
		if last == nil || last.Time.Before(m.Time) {
			last, fields = &managers[i], ofSpec.Size()
		}
	}
	if last == nil || fields != 1 {
		return false
	}
	path, err := fieldpath.ParseSteps(count)
	return last.Subresource == "scale" || err == nil && path.ManagedBy(*last, obj)
}

// number returns the first count at paths, or else 0 if zero contains one of the paths, or else nil.
func number(obj map[string]any, paths, zero []string) *int32 {
	for _, path := range paths {
		if n, found := wholeAt(obj, path); found {
			return new(Pods(n))
		}
	}
	if slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(zero, path) }) {
		return new(int32(0))
	}
	return nil
}

func wholeAt(obj map[string]any, path string) (int64, bool) {
	return fieldpath.Integer(valueAt(obj, path))
}

func textAt(obj map[string]any, path string) string {
	text, _ := valueAt(obj, path).(string)
	return text
}

func valueAt(obj map[string]any, word string) any {
	path, err := fieldpath.ParseSteps(word)
	if err != nil {
		return nil
	}
	value, _ := path.Value(obj)
	return value
}

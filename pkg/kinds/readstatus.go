package kinds

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// read reads what the facts of a kind say of an object that another program's
// controller reconciles.
func (f StatusFacts) read(o *status.Object, obj map[string]any) {
	o.Count, o.Unit, o.Several = f.Count, f.unit(), f.Several
	f.readGeneration(o, obj)
	if desired, found := f.number(obj, f.Desired); found {
		o.Desired = desired
	} else if len(f.Desired) > 0 {
		o.Desired = 0
	}
	for _, path := range f.Beside {
		if n, found := wholeAt(obj, path); found {
			o.Beside = append(o.Beside, status.Beside{Path: path, Value: n})
		}
	}
	if f.ScaleCount != "" {
		if n, found := wholeAt(obj, f.ScaleCount); found {
			o.Told = new(Pods(n))
		}
	}
	selector, _ := textAt(obj, f.ScaleSelector)
	o.Selects = selector != ""
	f.readCounts(o, obj)
	f.readWord(o, obj)
	o.OnlyCounted = onlyCounted(o.Managers, f.Count, obj)
	f.judge(o, obj)
}

// readGeneration reads which generation the controller saw.
func (f StatusFacts) readGeneration(o *status.Object, obj map[string]any) {
	switch seen := valueAt(obj, ".status.observedGeneration").(type) {
	case int64:
		o.ObservedGeneration = seen
		return
	case string:
		// A word that is no number is a hash or the like, and tells nothing.
		n, err := strconv.ParseInt(seen, 10, 64)
		if err == nil || seen == "" {
			o.ObservedGeneration = n
			return
		}
	}
	switch f.Generation {
	case GenerationField, GenerationText:
		// What the schema declares and an object lacks has not been written yet.
		o.Untracked = f.builtIn && o.Generation == 0
	default:
		o.Untracked = true
		o.Conditioned = f.Conditions && !f.builtIn
	}
}

// readCounts reads the counts of pods.
func (f StatusFacts) readCounts(o *status.Object, obj map[string]any) {
	ready, counted := f.number(obj, f.Ready)
	o.Ready, o.Uncounted = ready, !counted && !f.zero(f.Ready)
	current, found := f.number(obj, f.Current)
	o.Current = current
	if !found && !o.Uncounted && !f.zero(f.Current) {
		o.Current = ready // at least those are there
	}
	updated, told := f.number(obj, f.Updated)
	if told || f.zero(f.Updated) && hasContainers(obj) {
		o.Updated = &updated
	}
	if available, told := f.number(obj, f.Available); told || f.zero(f.Available) {
		o.Available = &available
	}
	if o.Updated != nil && f.Ordinal && valueAt(obj, ".spec.updateStrategy.rollingUpdate") == nil {
		current, _ := textAt(obj, ".status.currentRevision")
		if next, _ := textAt(obj, ".status.updateRevision"); next != current && o.Desired > 0 && *o.Updated >= o.Desired {
			// The controller has not yet declared the update complete.
			o.Updated = new(o.Desired - 1)
		}
	}
}

// hasContainers reports whether an object has a pod template where most kinds
// have it.
func hasContainers(obj map[string]any) bool {
	containers, _ := valueAt(obj, ".spec.template.spec.containers").([]any)
	return len(containers) > 0
}

// readWord reads what the controller says in its own words.
func (f StatusFacts) readWord(o *status.Object, obj map[string]any) {
	for at, paths := range map[*string][]string{&o.Word.Phase: f.Phase, &o.Word.Message: f.Message} {
		for _, path := range paths {
			if word, is := textAt(obj, path); is && word != "" {
				*at = word
				break
			}
		}
	}
	switch strings.ToLower(o.Word.Phase) {
	case "failed", "error", "degraded":
		o.Word.Failed = true
	}
}

// judge evaluates what the kind declares as ready, failed and paused. An
// expression that does not fit an object does not hold of it.
func (f StatusFacts) judge(o *status.Object, obj map[string]any) {
	if len(f.readyIf) > 0 {
		o.Word.Ready = new(!slices.ContainsFunc(f.readyIf, func(e fieldpath.Expression) bool { return !holdsOf(e, obj) }))
	}
	if len(f.failedIf) > 0 {
		i := slices.IndexFunc(f.failedIf, func(e fieldpath.Expression) bool { return holdsOf(e, obj) })
		if o.Word.Failed = i >= 0; o.Word.Failed && o.Word.String() == "" {
			o.Word.Phase = f.failedIf[i].String()
		}
	}
}

func holdsOf(e fieldpath.Expression, obj map[string]any) bool {
	holds, err := e.Holds(obj)
	return err == nil && holds
}

// Settle works out what depends on the desired count: what a partition leaves,
// what is paused, and how many pods all groups have together.
func (f StatusFacts) Settle(o *status.Object, obj *unstructured.Unstructured, count *fieldpath.Path) {
	switch {
	case f.Unit == "shard":
		o.Total = ofShards(*o)
	case o.Several && count != nil:
		o.Total = total(obj.Object, *count, o.Beside)
	}
	f.pause(o, obj.Object)
}

// pause finds what keeps the controller from going on.
func (f StatusFacts) pause(o *status.Object, obj map[string]any) {
	for _, e := range f.pausedIf {
		if holdsOf(e, obj) && !timedPause(obj) {
			o.Pause = &status.Pause{Code: status.CodePaused, Why: "it is paused: " + e.String(), Hint: pausedBy(f, *o, e)}
			// Whoever has a pod template goes on scaling when it is paused.
			o.Pause.Told = ofStatus(e)
			o.Pause.Template = strings.HasPrefix(strings.TrimPrefix(e.Path, "{"), ".spec.paused") && len(f.Updated) > 0 && hasContainers(obj)
			if o.Word.Message != "" {
				o.Pause.Why = "it is paused: " + o.Word.Message
			}
			if promotes(o.Word.Message) {
				o.Pause.Code, o.Pause.Why = status.CodeWaitingForPromotion, "it waits for a promotion: "+o.Word.Message
			}
			return
		}
	}
	for _, path := range []string{".spec.updateStrategy.paused", ".spec.updateStrategy.rollingUpdate.paused"} {
		if paused, _ := valueAt(obj, path).(bool); paused {
			o.Pause = &status.Pause{Code: status.CodePaused, Why: "its roll-out is paused: " + path + " is true", Hint: "whoever set " + path + " must take it back", Template: true}
			return
		}
	}
	for _, c := range o.Conditions {
		if f.pauseTold() {
			break // where the kind says it elsewhere, a condition may be behind
		}
		if slices.Contains([]string{"Paused", "ReconciliationPaused"}, c.Type) && c.Status == metav1.ConditionTrue && !o.BuiltIn && !timedPause(obj) {
			o.Pause = &status.Pause{Code: status.CodePaused, Why: "it is paused: " + strings.TrimSuffix(c.Reason+": "+c.Message, ": "), Hint: "see who paused " + o.Type + "/" + o.Name, Told: true}
			return
		}
	}
	if o.Updated == nil || *o.Updated >= o.Desired || !f.Ordinal && !o.Uncounted && o.Ready < o.Desired {
		return // what is new has yet to become ready
	}
	if strategy, _ := textAt(obj, f.OnDelete); strategy == "OnDelete" {
		o.Pause = &status.Pause{Code: status.CodeOnDelete, Why: "its strategy is OnDelete", Hint: "delete the pods of the older template", Template: true}
		return
	}
	f.partition(o, obj)
}

// pauseTold reports whether the kind declares where its status tells of a pause.
func (f StatusFacts) pauseTold() bool {
	return slices.ContainsFunc(f.pausedIf, ofStatus)
}

// ofStatus reports whether an expression is about what the controller writes.
func ofStatus(e fieldpath.Expression) bool {
	return strings.HasPrefix(strings.TrimPrefix(e.Path, "{"), ".status.")
}

// partition finds how many pods are to keep the older template.
func (f StatusFacts) partition(o *status.Object, obj map[string]any) {
	paths := []string{f.Partition}
	if !f.Ordinal {
		paths = append(paths, ".spec.updateStrategy.rollingUpdate.partition", ".spec.updateStrategy.partition")
	}
	var path string
	var value any
	for _, path = range paths {
		if value = valueAt(obj, path); value != nil {
			break
		}
	}
	kept, is := keptBy(value, o.Desired)
	if !is || kept == 0 {
		return
	}
	wanted := o.Desired - kept
	switch {
	case o.Updated == nil:
	case f.Ordinal:
		o.UpdatedWanted = &wanted
	case *o.Updated >= wanted:
		o.Pause = &status.Pause{
			Code: status.CodePartitioned, Template: true,
			Why:  path + " keeps " + strconv.Itoa(int(kept)) + " pods of the older template",
			Hint: "lower " + path + " to go on",
		}
	}
}

// keptBy is how many pods a partition keeps, or several of them, one for each group.
func keptBy(value any, desired int32) (int32, bool) {
	groups, several := value.(map[string]any)
	if !several {
		return keeps(value, desired)
	}
	sum := int32(0)
	for _, partition := range groups {
		n, is := keeps(partition, desired)
		if !is {
			return 0, false
		}
		sum = min(desired, sum+n)
	}
	return sum, true
}

// keeps is how many of some pods a partition keeps. A percentage is rounded up,
// and yet leaves one to be replaced unless it is all of them: so OpenKruise
// rounds it.
func keeps(value any, desired int32) (int32, bool) {
	var partition intstr.IntOrString
	switch value := value.(type) {
	case int64:
		partition = intstr.FromInt32(Pods(min(value, int64(desired))))
	case string:
		partition = intstr.Parse(value)
	default:
		return 0, false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&partition, int(desired), true)
	if err != nil {
		return 0, false
	}
	if partition.Type == intstr.String && partition.StrVal != "100%" && desired > 0 && n >= int(desired) {
		n = int(desired) - 1
	}
	return int32(max(0, min(n, int(desired)))), true //nolint:gosec // between two of 32 bits
}

// promotes reports whether a message of Argo Rollouts says that a person must
// promote the new version.
func promotes(message string) bool {
	return strings.Contains(message, "BlueGreenPause") || strings.Contains(message, "CanaryPauseStep")
}

// timedPause reports whether a canary is at a step that ends by itself, or a new
// version is promoted by itself after a time.
func timedPause(obj map[string]any) bool {
	if seconds, _ := wholeAt(obj, ".spec.strategy.blueGreen.autoPromotionSeconds"); seconds > 0 {
		paused, _ := valueAt(obj, ".spec.paused").(bool)
		return !paused
	}
	index, found := wholeAt(obj, ".status.currentStepIndex")
	steps, _ := valueAt(obj, ".spec.strategy.canary.steps").([]any)
	if !found || index < 0 || int(index) >= len(steps) {
		return false
	}
	step, _ := steps[index].(map[string]any)
	if paused, _ := valueAt(obj, ".spec.paused").(bool); paused {
		return false
	}
	return fieldpath.Object(step, "pause")["duration"] != nil
}

// ofShards is how many pods some shards have: as many each as a count beside them
// says, or else one.
func ofShards(o status.Object) *int32 {
	each := int64(1)
	for _, b := range o.Beside {
		if strings.Contains(strings.ToLower(b.Path), "replica") {
			each = b.Value
			break
		}
	}
	if each < 0 || each*int64(o.Desired) > 1<<30 {
		return nil
	}
	return new(Pods(each * int64(o.Desired)))
}

// total is the sum of the counts of all groups, one of which is at a path; nil
// where it is not known.
func total(obj map[string]any, count fieldpath.Path, beside []status.Beside) *int32 {
	last := -1
	for i, s := range count.Steps {
		if s.Kind != fieldpath.Field {
			last = i
		}
	}
	sum, found := int64(0), false
	if last < 0 {
		name := count.Steps[len(count.Steps)-1].Name
		for _, b := range beside {
			if path, err := fieldpath.ParseSteps(b.Path); err == nil && path.Steps[len(path.Steps)-1].Name == name {
				sum += b.Value
			}
		}
		own, is, err := count.Get(obj)
		sum, found = sum+own, is && err == nil
	} else {
		_, value, taken, err := fieldpath.Path{Steps: count.Steps[:last]}.Locate(obj)
		list, _ := value.([]any)
		if err != nil || taken < last {
			return nil
		}
		for _, element := range list {
			content, _ := element.(map[string]any)
			_, n, taken, err := fieldpath.Path{Steps: count.Steps[last+1:]}.Locate(content)
			if number, is := fieldpath.Integer(n); err == nil && is && taken == len(count.Steps)-last-1 {
				sum, found = sum+number, true
			}
		}
	}
	if !found || sum < 0 || sum > 1<<30 {
		return nil
	}
	return new(Pods(sum))
}

// onlyCounted reports whether the last change of the spec touched nothing but the
// count: who made it owns no other field of the spec.
func onlyCounted(managers []metav1.ManagedFieldsEntry, count string, obj map[string]any) bool {
	var last *metav1.ManagedFieldsEntry
	for i, m := range managers {
		if m.Subresource == "status" || m.Time == nil || m.FieldsV1 == nil || !strings.Contains(m.FieldsV1.GetRawString(), `"f:spec"`) {
			continue
		}
		if last != nil && last.Time.Equal(m.Time) {
			return false // which of two came last is not known
		}
		if last == nil || last.Time.Before(m.Time) {
			last = &managers[i]
		}
	}
	if last == nil {
		return false
	}
	if path, err := fieldpath.ParseSteps(count); last.Subresource != "scale" && (err != nil || !path.ManagedBy(*last, obj)) {
		return false
	}
	var owned map[string]any
	if json.Unmarshal(last.FieldsV1.GetRawBytes(), &owned) != nil {
		return false
	}
	spec, _ := owned["f:spec"].(map[string]any)
	return leaves(spec) == 1
}

// leaves counts the fields that an entry of managedFields owns.
func leaves(owned map[string]any) int {
	n := 0
	for name, below := range owned {
		switch below, _ := below.(map[string]any); {
		case name == ".":
		case len(below) == 0:
			n++
		default:
			n += leaves(below)
		}
	}
	return n
}

// number is the first of some fields that holds a whole number.
func (f StatusFacts) number(obj map[string]any, paths []string) (int32, bool) {
	for _, path := range paths {
		if n, found := wholeAt(obj, path); found {
			return Pods(n), true
		}
	}
	return 0, false
}

func wholeAt(obj map[string]any, path string) (int64, bool) {
	return fieldpath.Integer(valueAt(obj, path))
}

func textAt(obj map[string]any, path string) (string, bool) {
	text, is := valueAt(obj, path).(string)
	return text, is
}

// valueAt is what an object has at a path, nil where there is nothing.
func valueAt(obj map[string]any, word string) any {
	if word == "" {
		return nil
	}
	path, err := fieldpath.ParseSteps(word)
	if err != nil {
		return nil
	}
	_, value, taken, err := path.Locate(obj)
	if err != nil || taken < len(path.Steps) {
		return nil
	}
	return value
}

// someConditions are those of a status that can be read. Other programs may have
// something else under that name.
func someConditions(told map[string]any) []metav1.Condition {
	list, _ := told["conditions"].([]any)
	var all []metav1.Condition
	for _, item := range list {
		content, _ := item.(map[string]any)
		var c metav1.Condition
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &c)
		if err != nil {
			// A time that is none, for example, takes nothing from the rest.
			c = metav1.Condition{}
			c.Type, _ = content["type"].(string)
			text, _ := content["status"].(string)
			c.Status = metav1.ConditionStatus(text)
			c.Reason, _ = content["reason"].(string)
			c.Message, _ = content["message"].(string)
			c.ObservedGeneration, _ = fieldpath.Integer(content["observedGeneration"])
		}
		if c.Type != "" && c.Status != "" {
			all = append(all, c)
		}
	}
	return all
}

// Child reads from an object that stands between another and its pods what a
// report needs of it.
func Child(obj *unstructured.Unstructured) status.Child {
	child := status.Child{
		APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName(), UID: obj.GetUID(), Created: obj.GetCreationTimestamp().Time,
		Managers: obj.GetManagedFields(), Generation: obj.GetGeneration(),
	}
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		child.Controller = ref.UID
	}
	if told, _, err := unstructured.NestedMap(obj.Object, "status"); err == nil {
		child.Conditions = someConditions(told)
	}
	kind := childKind(obj)
	facts, err := NewStatusFacts(kind, KindSource{}, nil)
	if err != nil {
		return child
	}
	desired, _ := kind.Desired(obj) // the server bounds those of built-in kinds
	o := status.Object{Generation: child.Generation, Conditions: child.Conditions, Desired: desired}
	o.BuiltIn = kind.BuiltIn()
	facts.Count = ".spec.replicas"
	facts.read(&o, obj.Object)
	child.ObservedGeneration, child.Tracked = o.ObservedGeneration, !o.Untracked && o.Generation > 0
	_, counted := wholeAt(obj.Object, ".spec.replicas")
	if !kind.BuiltIn() {
		// Without its schema, only what is there is known.
		child.Tracked = child.Tracked && o.ObservedGeneration > 0
		counted = counted && !o.Uncounted
	}
	if !counted && len(facts.Desired) == 0 {
		return child
	}
	facts.partition(&o, obj.Object)
	child.Desired, child.Current, child.Ready = new(o.Desired), new(o.Current), new(o.Ready)
	child.Available, child.UpdatedWanted = o.Available, o.UpdatedWanted
	if kind.BuiltIn() {
		child.Updated = o.Updated
	}
	return child
}

func childKind(obj *unstructured.Unstructured) Kind {
	gvk := obj.GroupVersionKind()
	kind := Kind{Kind: gvk.Kind, Singular: strings.ToLower(gvk.Kind)}
	kind.Resource = gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
	return kind
}

package replicas

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

// requestRow is a request to read or change the count of an object, with its expected effect.
type requestRow struct {
	Name string
	// Request accepts any current count if Current is zero. The resourceVersion "its"
	// stands for the current version of the object.
	Request

	// Target is the object, such as deployment/web, or "" for the ImoocPod foo. Read means that the command has
	// read it before.
	Target string
	Read   bool
	// Count and Removed are the count and the removed slots of foo. Spec is the spec of the CloneSet web.
	Count   *int64
	Removed string
	Spec    any
	// ReplicaSets are the counts of the ReplicaSets of the Deployment web.
	ReplicaSets []int64
	// Deleting is an object that is being deleted, such as pods/web-0-a. Finished is the name of a failed pod.
	Deleting, Finished string
	// Field is "scale" or "path" if only one way to set the count is known. Path is the path of the count.
	Field, Path string
	// Refuses maps requests such as "patch scale" to the reason why the server rejects them.
	Refuses map[string]string
	// Rival is another client, which sets fields of an object before the server handles a request.
	Rival struct {
		Before int // the number of the request
		Object string
		Set    map[string]any
	}

	// Sent lists the requests. Says is the description of the change, or "" if there is an error. Error is
	// the start of this error, Hint is part of its hints, and Reason is the reason that the server gave.
	Sent, Says, Error, Hint, Reason string
	// Patches are the sent patches without the version, each with the name of its object.
	Patches []string
	// Slots are the removed slots after the change.
	Slots string
	// Writes is the number of changes that a request makes before it fails.
	Writes int
}

// target returns the target of a row, without its object.
func (row requestRow) target() observe.Target {
	switch kind, name, _ := strings.Cut(row.Target, "/"); kind {
	case "appservice":
		return observe.Target{Kind: kinds.AppService(), Namespace: "shop", Name: name}
	case "cloneset":
		return ofCloneSet()
	case "deployment":
		return ofWeb()
	case "replicaset":
		return observe.Target{Kind: kindOf("apps", "v1", "ReplicaSet"), Namespace: "shop", Name: name}
	}
	return ofFoo()
}

// field returns how the count of the row can be written: through /scale, a path, or both.
func (row requestRow) field(t *testing.T) discover.Field {
	t.Helper()
	field := discover.Field{Scale: row.Field != "path"}
	if row.Field != "scale" {
		field.Path = new(specReplicas())
	}
	if row.Path != "" {
		path, err := fieldpath.ParsePath(row.Path)
		if err != nil {
			t.Fatal(err)
		}
		field.Path = &path
	}
	return field
}

// serve returns a server with the objects of a row.
func (row requestRow) serve(t *testing.T) *shelf {
	t.Helper()
	s := newShelf(t)
	switch kind, _, _ := strings.Cut(row.Target, "/"); kind {
	case "cloneset":
		s.CreateYAML(cloneSets)
		set := parse(t, "{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {name: web}, spec: {replicas: 3}}")
		if row.Spec != nil {
			set.Object["spec"] = row.Spec
		}
		s.pod("web-a", s.Create(set))
	case "deployment", "replicaset":
		web := s.put(deployment(3))
		for i, n := range row.ReplicaSets {
			set := s.put(replicaSet(fmt.Sprint("web-", i), n), web)
			s.pod(fmt.Sprintf("web-%d-a", i), set)
			s.pod(fmt.Sprintf("web-%d-b", i), set)
		}
		// The Deployment does not control these ReplicaSets.
		s.pod("stray-a", s.put(replicaSet("stray", 2)))
		s.put(replicaSet("other", 2), s.put(strings.Replace(deployment(2), "name: web", "name: db", 1)))
	default:
		s.CreateCRDs()
		s.foo(row)
	}
	if resource, name, is := strings.Cut(row.Deleting, "/"); is {
		s.Update(resource, "shop", name, func(obj *unstructured.Unstructured) {
			obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1e9, 0)})
			obj.SetFinalizers([]string{"example.com/stay"})
		})
	}
	if row.Finished != "" {
		s.Update("pods", "shop", row.Finished, func(pod *unstructured.Unstructured) { pod.Object["status"] = map[string]any{"phase": "Failed"} })
	}
	s.writes = nil
	s.refuse(row.target(), row.refusals())
	if row.Rival.Before > 0 {
		s.others = append(slices.Repeat([]func(){func() {}}, row.Rival.Before-1), func() { row.interfere(s) })
	}
	return s
}

// foo creates the ImoocPod foo and, if the row removes pods, its pods and pods that do not belong to it.
func (s *shelf) foo(row requestRow) {
	s.t.Helper()
	count := int64(3)
	if row.Count != nil {
		count = *row.Count
	}
	obj := parse(s.t, imoocPod(count))
	if row.Removed != "" {
		obj.SetAnnotations(map[string]string{apis.AnnotationRemovedSlots: strings.Replace(row.Removed, "all", allSlots(), 1)})
	}
	foo := s.Create(obj)
	if len(row.Remove) == 0 {
		return
	}
	for _, slot := range []slots.Slot{0, 1, 2, 3, 1001} {
		s.pod(slots.PodName("foo", foo.GetUID(), "", slot), foo)
	}
	lost := s.Get("pods", "shop", slots.PodName("foo", foo.GetUID(), "", 2)).GetUID()
	replacement := slots.PodName("foo", foo.GetUID(), lost, 2)
	s.pod(replacement, foo)
	s.Update("pods", "shop", replacement, func(pod *unstructured.Unstructured) {
		pod.SetLabels(map[string]string{apis.LabelReplaces: string(lost)})
	})
	s.pod("foo-earlier", foo)
	s.pod("stray")
	s.pod("bar-1", s.put(strings.Replace(imoocPod(1), "name: foo", "name: bar", 1)))
}

// allSlots returns the longest valid list of removed slots.
func allSlots() string {
	var removed slots.Removed
	for slot := range slots.Slot(slots.MaxRemoved) {
		removed = append(removed, slot)
	}
	return removed.String()
}

// pod creates a pod with at most one owner.
func (s *shelf) pod(name string, owners ...*unstructured.Unstructured) {
	s.t.Helper()
	s.put("{apiVersion: v1, kind: Pod, metadata: {name: "+name+"}, spec: "+containers+"}", owners...)
}

// replicaSet returns a ReplicaSet as YAML.
func replicaSet(name string, pods int64) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %s},
  spec: {replicas: %d, %s}, status: {replicas: %[2]d}}`, name, pods, workload)
}

// refusals returns the server's errors for the rejected requests.
func (row requestRow) refusals() map[string]error {
	web := schema.GroupResource{Group: "apps", Resource: "deployments"}
	known := map[string]error{
		"Conflict":  apierrors.NewConflict(web, "web", errors.New("it has changed")),
		"Forbidden": apierrors.NewForbidden(web, "web", errors.New("no")),
		// The server returns this error for /scale if the count is not set.
		"InternalError": apierrors.NewInternalError(errors.New("the count is not set")),
		// The server returns this error for a missing object and for a missing subresource.
		"NotFound": apierrors.NewNotFound(web, "web"),
	}
	refusals := map[string]error{}
	for request, reason := range row.Refuses {
		refusals[request] = known[reason]
	}
	return refusals
}

// interfere makes the change of Rival.
func (row requestRow) interfere(s *shelf) {
	s.t.Helper()
	resource, name, _ := strings.Cut(row.Rival.Object, "/")
	s.Update(resource, "shop", name, func(obj *unstructured.Unstructured) {
		for word, value := range row.Rival.Set {
			path, err := fieldpath.ParseSteps(word)
			if err != nil {
				s.t.Fatal(err)
			}
			if err := path.Set(obj.Object, value); err != nil {
				s.t.Fatal(err)
			}
		}
	})
}

// compare checks the requests, and the description or the error.
func (row requestRow) compare(t *testing.T, s *shelf, description string, err error) {
	t.Helper()
	if sent := s.sent(); sent != row.Sent {
		t.Errorf("requests = %q, want %q", sent, row.Sent)
	}
	if err == nil {
		if description != row.Says {
			t.Errorf("no error, description %q, want %q (error %q)", description, row.Says, row.Error+row.Reason)
		}
		return
	}
	if reason := string(apierrors.ReasonForError(err)); row.Says != "" || !strings.HasPrefix(formatError(err), row.Error) || reason != row.Reason {
		t.Errorf("error = %v (reason %q), want the description %q or the error %q (reason %q)", err, reason, row.Says, row.Error, row.Reason)
	}
	if !strings.Contains(formatError(err), row.Hint) {
		t.Errorf("error = %q, want the hint %q", formatError(err), row.Hint)
	}
	if errors.Is(err, outcome.ErrPrecondition) != strings.HasPrefix(row.Error, outcome.ErrPrecondition.Error()) {
		t.Errorf("errors.Is(%v, ErrPrecondition) = %t", err, errors.Is(err, outcome.ErrPrecondition))
	}
}

// Set and Remove send the requests of each row in order. A patch of an object requires the version that they
// have read. A dry run sends the same requests, and changes nothing.
func TestRequests(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/requests/*.yaml", time.Time{}, func(t *testing.T, row requestRow) {
		s := row.serve(t)
		if row.Rival.Before == 0 {
			row.check(t, s, []string{metav1.DryRunAll})
			s.Forget()
		}
		row.check(t, s, nil)
	})
}

func (row requestRow) check(t *testing.T, s *shelf, dryRun []string) {
	t.Helper()
	done, err := row.send(t, s, dryRun)
	row.compare(t, s, done.String(), err)
	if err == nil {
		row.checkEffect(t, s, done, dryRun)
	}
	if changes := err == nil && !row.Local && dryRun == nil; !changes && len(s.writes) != row.Writes {
		t.Errorf("dry run %q, error %v: %d changes, want %d", dryRun, err, len(s.writes), row.Writes)
	}
}

func (row requestRow) send(t *testing.T, s *shelf, dryRun []string) (Result, error) {
	t.Helper()
	target, request := row.target(), row.Request
	request.FieldManager, request.DryRun = kinds.FieldManager, dryRun
	if request.Current == 0 {
		request.Current = AnyCount
	}
	if request.ResourceVersion == "its" {
		request.ResourceVersion = s.stored(target).GetResourceVersion()
	}
	if row.Read {
		target.Object = s.stored(target)
	}
	if len(request.Remove) > 0 {
		return Remove(t.Context(), s.objects, s.pods, target, row.field(t), request)
	}
	return Set(t.Context(), target.Resource(s.objects), target, row.field(t), request)
}

// checkEffect checks the object after a change, or the object that a dry run returns.
func (row requestRow) checkEffect(t *testing.T, s *shelf, done Result, dryRun []string) {
	t.Helper()
	target := row.target()
	obj := s.stored(target)
	if !row.Local && done.UID != obj.GetUID() {
		t.Errorf("the UID is %s, want %s", done.UID, obj.GetUID())
	}
	row.checkPatches(t, s.Requests(apiserver.On("patch", "*")), dryRun)
	if row.Local || dryRun != nil {
		obj = done.Object
	}
	if obj == nil {
		return // a dry run through /scale
	}
	if n := countIn(obj); n != int64(done.Replicas) {
		t.Errorf("the count is %d, want %d", n, done.Replicas)
	}
	// The previous count is recorded only for kinds that run-controller reconciles, and only if the object
	// itself is patched and not its /scale.
	want := map[string]string{}
	if target.Kind.Reconciled() && !strings.HasSuffix(row.Sent, "scale") && *done.Before != done.Replicas {
		from := *cmp.Or(row.Began, done.Before)
		want[apis.AnnotationLastScale] = fmt.Sprintf(`{"from":%d,"to":%d,"path":".spec.replicas"}`, from, done.Replicas)
	}
	if row.Slots != "" {
		want[apis.AnnotationRemovedSlots] = row.Slots
	}
	if got := obj.GetAnnotations(); !maps.Equal(got, want) {
		t.Errorf("the annotations are %v, want %v", got, want)
	}
}

// checkPatches checks the options of all patches, and that a patch of an object begins with its resource version.
func (row requestRow) checkPatches(t *testing.T, patches []apiserver.Request, dryRun []string) {
	t.Helper()
	var sent []string
	for _, r := range patches {
		if r.Query.Get("fieldManager") != kinds.FieldManager || !slices.Equal(r.Query["dryRun"], dryRun) {
			t.Errorf("patch options = %v, want the field manager %s and dryRun %v", r.Query, kinds.FieldManager, dryRun)
		}
		guard, rest, _ := strings.Cut(string(r.Body), "},")
		if r.Subresource == "" && !strings.HasPrefix(guard, `[{"op":"replace","path":"/metadata/resourceVersion","value":"`) {
			t.Errorf("the patch does not replace the resourceVersion first: %s", r.Body)
		}
		sent = append(sent, r.Name+" "+rest)
	}
	if row.Patches != nil && !slices.Equal(sent, row.Patches) {
		t.Errorf("the patches are %q, want %q", sent, row.Patches)
	}
}

// Count reads the count through /scale or in its field.
func TestCount(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/counts.yaml", time.Time{}, func(t *testing.T, row requestRow) {
		s, target := row.serve(t), row.target()
		n, err := Count(t.Context(), target.Resource(s.objects), target, row.field(t))
		row.compare(t, s, fmt.Sprint(n), err)
	})
}

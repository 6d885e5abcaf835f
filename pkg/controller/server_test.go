package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

const (
	// writeTakes is the duration of a write on the server. With zero, two writes would never be in
	// flight at the same time.
	writeTakes = time.Millisecond
	// podStarts and podEnds are how long a kubelet takes to start and to remove a pod. deploymentTakes
	// is how long the Deployment controller takes to roll out a Deployment.
	podStarts       = 200 * time.Millisecond
	podEnds         = 500 * time.Millisecond
	deploymentTakes = 300 * time.Millisecond
	// stuck marks a pod that does not terminate, because its node does not respond.
	stuck = "test/stuck"
)

// server is an API server in memory, with kubelets and the Deployment controller. It implements
// only what the loop needs, with the API's rules for names, labels, selectors, preconditions, and
// field ownership. The loop uses the server as the transport of its clients. Tests change objects
// through methods of the server.
type server struct {
	mu       sync.Mutex
	revision int64
	uids     int
	kinds    map[schema.GroupVersionResource]served
	// objects maps a resource to its objects by namespace/name.
	objects map[schema.GroupVersionResource]map[string]*unstructured.Unstructured
	// applied maps an object to the last configuration that the loop applied.
	applied map[types.UID]map[string]any
	history []event
	changed chan struct{} // closed and replaced on every event
	writes  []write
	// admit, if set, can reject a write. It is called with the server locked.
	admit func(write) *apierrors.StatusError
	// judge, if set, is called before each write that is not rejected. It is called with the server locked.
	judge func(write)
	// lose, if set, reports whether the response to a write is lost. It is called with the
	// server locked.
	lose func(write) bool
	// late is the delay of watch events. readTakes is the duration of a read of one object.
	late, readTakes time.Duration
	// reads, if set, is called with each object that a live read returns.
	reads func(*unstructured.Unstructured)
	// unlisted holds the resources for which lists and watches are forbidden.
	unlisted map[schema.GroupVersionResource]bool
}

type served struct {
	kind string
	// status means that only a write to the subresource /status can change the status.
	status bool
}

type event struct {
	at       time.Time
	revision int64
	resource schema.GroupVersionResource
	// before is nil for a created object. after is nil for a deleted object.
	before, after *unstructured.Unstructured
}

// write is a request of the loop that changes something.
type write struct {
	at          time.Time
	verb        string // create, patch, apply, delete
	resource    schema.GroupVersionResource
	subresource string
	name        string
	// before and after are the states of the object before and after the write. before is nil if there
	// was no object. after is nil for a delete or a refused write.
	before, after *unstructured.Unstructured
	refused       error
}

func (w write) String() string {
	text := fmt.Sprintf("%s %s %s %s", w.at.Format("15:04:05.000"), w.verb, w.resource.Resource, w.name)
	if w.subresource != "" {
		text += "/" + w.subresource
	}
	if w.refused != nil {
		text += ": " + w.refused.Error()
	}
	return text
}

var (
	podsResource   = corev1.SchemeGroupVersion.WithResource("pods")
	nodesResource  = corev1.SchemeGroupVersion.WithResource("nodes")
	eventsResource = corev1.SchemeGroupVersion.WithResource("events")
)

func newServer() *server {
	return &server{
		kinds: map[schema.GroupVersionResource]served{
			podsResource: {kind: "Pod", status: true}, nodesResource: {kind: "Node"},
			eventsResource: {kind: "Event"}, strategy.DeploymentResource(): {kind: "Deployment", status: true}, strategy.RevisionResource(): {kind: "ControllerRevision"}, kinds.CRDResource(): {kind: "CustomResourceDefinition"},
		},
		objects: map[schema.GroupVersionResource]map[string]*unstructured.Unstructured{},
		applied: map[types.UID]map[string]any{}, unlisted: map[schema.GroupVersionResource]bool{},
		changed: make(chan struct{}),
	}
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

// RoundTrip responds to a request.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	resource, namespace, name, subresource, err := parse(r.URL)
	if err != nil {
		return nil, err
	}
	takes := writeTakes
	switch {
	case r.Method == http.MethodGet && name == "":
		takes = 0
	case r.Method == http.MethodGet:
		takes = s.readTakes
	}
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, known := s.kinds[resource]
	if !known {
		return answer(r, nil, apierrors.NewNotFound(resource.GroupResource(), name))
	}
	switch {
	case r.Method == http.MethodGet && name == "" && s.unlisted[resource]:
		return answer(r, nil, apierrors.NewForbidden(resource.GroupResource(), "", errors.New("the role is an older one")))
	case r.Method == http.MethodGet && name == "" && r.URL.Query().Get("watch") != "":
		return s.watch(r, resource, kind, namespace)
	case r.Method == http.MethodGet && name == "":
		list, err := s.list(resource, kind, namespace, r.URL.Query().Get("labelSelector"))
		return answer(r, list, err)
	case r.Method == http.MethodGet:
		obj := s.objects[resource][keyOf(namespace, name)]
		if obj == nil {
			return answer(r, nil, apierrors.NewNotFound(resource.GroupResource(), name))
		}
		if s.reads != nil {
			s.reads(obj)
		}
		return answer(r, obj.Object, nil)
	}
	w := write{at: time.Now(), resource: resource, subresource: subresource, name: name, before: s.objects[resource][keyOf(namespace, name)]}
	obj, err := s.change(r, body, &w, namespace)
	w.refused = err
	s.writes = append(s.writes, w)
	if s.lose != nil && s.lose(w) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return answer(r, nil, err)
	}
	return answer(r, obj.Object, nil)
}

// parse returns the parts of a path, such as
// /apis/apps/v1/namespaces/default/deployments/foo/status.
func parse(u *url.URL) (resource schema.GroupVersionResource, namespace, name, subresource string, err error) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		resource.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		resource.Group, resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return resource, "", "", "", fmt.Errorf("unexpected path %s", u.Path)
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	resource.Resource = parts[0]
	return resource, namespace, parts[1], parts[2], nil
}

func answer(r *http.Request, obj map[string]any, err error) (*http.Response, error) {
	code, content := http.StatusOK, any(obj)
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		told := status.Status()
		told.APIVersion, told.Kind = "v1", "Status"
		code, content = int(told.Code), told
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
	}, nil
}

func (s *server) list(resource schema.GroupVersionResource, kind served, namespace, selector string) (map[string]any, error) {
	selects, err := labels.Parse(selector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	items := []any{}
	for _, at := range slices.Sorted(maps.Keys(s.objects[resource])) {
		if obj := s.objects[resource][at]; inView(obj, namespace, selects) {
			items = append(items, obj.Object)
		}
	}
	return map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind.kind + "List", "items": items,
		"metadata": map[string]any{"resourceVersion": fmt.Sprint(s.revision)},
	}, nil
}

func inView(obj *unstructured.Unstructured, namespace string, selects labels.Selector) bool {
	return obj != nil && (namespace == "" || obj.GetNamespace() == namespace) && selects.Matches(labels.Set(obj.GetLabels()))
}

// watch returns a response that streams the events after a revision. For a streamed list, it
// streams all objects first.
func (s *server) watch(r *http.Request, resource schema.GroupVersionResource, kind served, namespace string) (*http.Response, error) {
	selects, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return answer(r, nil, apierrors.NewBadRequest(err.Error()))
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	var first []map[string]any
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, at := range slices.Sorted(maps.Keys(s.objects[resource])) {
			if obj := s.objects[resource][at]; inView(obj, namespace, selects) {
				first = append(first, map[string]any{"type": "ADDED", "object": obj.Object})
			}
		}
		after = s.revision
		first = append(first, map[string]any{"type": "BOOKMARK", "object": map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": kind.kind, "metadata": map[string]any{
				"resourceVersion": fmt.Sprint(after), "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"}},
		}})
	}
	reader, writer := io.Pipe()
	go func() {
		encoder := json.NewEncoder(writer)
		for _, e := range first {
			if encoder.Encode(e) != nil {
				return
			}
		}
		for {
			s.mu.Lock()
			changed, now := s.changed, s.revision
			type told struct {
				when time.Time
				seen map[string]any
			}
			var events []told
			for _, e := range s.since(after) {
				if e.resource != resource {
					continue
				}
				for _, seen := range e.seen(namespace, selects) {
					events = append(events, told{e.at.Add(s.late), seen})
				}
			}
			s.mu.Unlock()
			after = now
			for _, e := range events {
				select {
				case <-time.After(time.Until(e.when)):
				case <-r.Context().Done():
				}
				if encoder.Encode(e.seen) != nil {
					return
				}
			}
			select {
			case <-changed:
			case <-r.Context().Done():
			}
			if err := r.Context().Err(); err != nil {
				_ = writer.CloseWithError(err)
				return
			}
		}
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: reader,
	}, nil
}

func (s *server) since(revision int64) []event {
	i, _ := slices.BinarySearchFunc(s.history, revision+1, func(e event, r int64) int { return int(e.revision - r) })
	return s.history[i:]
}

// seen returns the event that a watch with a selector sends for e, or nil if it sends none.
func (e event) seen(namespace string, selects labels.Selector) []map[string]any {
	before, after := inView(e.before, namespace, selects), inView(e.after, namespace, selects)
	switch {
	case before && after:
		return []map[string]any{{"type": "MODIFIED", "object": e.after.Object}}
	case after:
		return []map[string]any{{"type": "ADDED", "object": e.after.Object}}
	case before:
		gone := e.before.DeepCopy()
		if e.after != nil {
			gone = e.after.DeepCopy()
		}
		gone.SetResourceVersion(fmt.Sprint(e.revision))
		return []map[string]any{{"type": "DELETED", "object": gone.Object}}
	}
	return nil
}

// change executes a write of the loop, unless the write is rejected, and sets the remaining fields of w.
func (s *server) change(r *http.Request, body []byte, w *write, namespace string) (*unstructured.Unstructured, error) {
	resource := w.resource
	var after *unstructured.Unstructured
	var err error
	switch r.Method {
	case http.MethodPost:
		w.verb = "create"
		after = &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(body, &after.Object); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		w.name = after.GetName()
		after.SetNamespace(namespace)
		if s.kinds[resource].status {
			delete(after.Object, "status")
		}
		if w.before = s.objects[resource][keyOf(namespace, w.name)]; w.before != nil {
			return nil, apierrors.NewAlreadyExists(resource.GroupResource(), w.name)
		}
	case http.MethodPatch:
		if after, err = s.patched(r.Header.Get("Content-Type"), body, w, namespace); err != nil {
			return nil, err
		}
	case http.MethodDelete:
		w.verb = "delete"
		if w.before == nil {
			return nil, apierrors.NewNotFound(resource.GroupResource(), w.name)
		}
		var opts metav1.DeleteOptions
		if len(body) > 0 {
			if err := json.Unmarshal(body, &opts); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
		if p := opts.Preconditions; p != nil && (p.UID != nil && *p.UID != w.before.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != w.before.GetResourceVersion()) {
			return nil, apierrors.NewConflict(resource.GroupResource(), w.name, errors.New("the UID or the version in the precondition is another"))
		}
	default:
		return nil, apierrors.NewMethodNotSupported(resource.GroupResource(), r.Method)
	}
	w.after = after
	if s.admit != nil {
		if err := s.admit(*w); err != nil {
			w.after = nil
			return nil, err
		}
	}
	if after != nil {
		if errs := apiserver.Validate(w.before, after); len(errs) > 0 {
			w.after = nil
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: s.kinds[resource].kind}, w.name, errs)
		}
	}
	if s.judge != nil {
		s.judge(*w)
	}
	if w.verb == "delete" {
		return s.delete(resource, w.before), nil
	}
	return s.store(resource, after), nil
}

// patched returns an object after a patch, and sets the verb of the write.
func (s *server) patched(contentType string, body []byte, w *write, namespace string) (*unstructured.Unstructured, error) {
	w.verb = "patch"
	applies := strings.HasPrefix(contentType, string(types.ApplyPatchType))
	before := w.before
	if before == nil && !applies {
		return nil, apierrors.NewNotFound(w.resource.GroupResource(), w.name)
	}
	after := &unstructured.Unstructured{}
	var asked map[string]any // its UID and resourceVersion are preconditions
	switch {
	case applies:
		w.verb = "apply"
		if err := yaml.Unmarshal(body, &asked); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if text, err := json.Marshal(asked); err != nil {
			return nil, err
		} else if err := utiljson.Unmarshal(text, &asked); err != nil {
			return nil, err
		}
		if before == nil {
			if uid, _, _ := unstructured.NestedString(asked, "metadata", "uid"); uid != "" {
				return nil, apierrors.NewConflict(w.resource.GroupResource(), w.name, errors.New("there is no such object"))
			}
			before = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": namespace, "name": w.name}}}
		}
		after.Object = s.apply(before, asked, w)
	default:
		text, err := json.Marshal(before.Object)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(contentType, string(types.JSONPatchType)) {
			patch, err := jsonpatch.DecodePatch(body)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			if text, err = patch.Apply(text); err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", w.resource.GroupResource(), w.name, err.Error(), 0, false)
			}
		} else if text, err = jsonpatch.MergePatch(text, body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if err := utiljson.Unmarshal(text, &after.Object); err != nil {
			return nil, err
		}
		asked = after.Object
	}
	for name, is := range map[string]string{"uid": string(before.GetUID()), "resourceVersion": before.GetResourceVersion()} {
		if want, _, _ := unstructured.NestedString(asked, "metadata", name); want != "" && want != is {
			return nil, apierrors.NewConflict(w.resource.GroupResource(), w.name, fmt.Errorf("metadata.%s is another", name))
		}
	}
	if s.kinds[w.resource].status {
		// A write to /status changes only the status. Other writes change everything else.
		from, to := before, after
		if w.subresource == "status" {
			from, to = after, before.DeepCopy()
			defer func() { after.Object = to.Object }()
		}
		if status, found := from.Object["status"]; found {
			to.Object["status"] = status
		} else {
			delete(to.Object, "status")
		}
	}
	return after, nil
}

// apply merges the applied fields into an object, and removes fields that the loop applied before
// but not now.
func (s *server) apply(before *unstructured.Unstructured, asked map[string]any, w *write) map[string]any {
	at := before.GetUID()
	ours := (&unstructured.Unstructured{Object: asked}).DeepCopy().Object
	delete(ours, "apiVersion")
	delete(ours, "kind")
	if metadata, ok := ours["metadata"].(map[string]any); ok {
		for _, name := range []string{"name", "namespace", "uid", "resourceVersion"} {
			delete(metadata, name)
		}
	}
	merged, _ := merge(before.DeepCopy().Object, ours, s.applied[at], "").(map[string]any)
	if at == "" {
		merged["apiVersion"], merged["kind"] = w.resource.GroupVersion().String(), s.kinds[w.resource].kind
		at = s.nextUID() // the UID of the object to be created
	}
	s.applied[at] = ours
	return merged
}

// merge returns the value after an apply. applied is the new configuration of a manager, and last
// is its previous one.
func merge(is, applied, last any, name string) any {
	key := map[string]string{"containers": "name", "env": "name", "ownerReferences": "uid"}[name]
	switch applied := applied.(type) {
	case map[string]any:
		there, ok := is.(map[string]any)
		if !ok {
			there = map[string]any{}
		}
		before, _ := last.(map[string]any)
		for name := range before {
			if _, still := applied[name]; !still {
				delete(there, name)
			}
		}
		for name, value := range applied {
			there[name] = merge(there[name], value, before[name], name)
		}
		return there
	case []any:
		there, ok := is.([]any)
		if !ok || key == "" {
			return applied
		}
		before, _ := last.([]any)
		find := func(list []any, element any) int {
			element, _ = element.(map[string]any)
			return slices.IndexFunc(list, func(e any) bool {
				a, ok := e.(map[string]any)
				b, ok2 := element.(map[string]any)
				return ok && ok2 && a[key] == b[key]
			})
		}
		there = slices.DeleteFunc(slices.Clone(there), func(e any) bool { return find(before, e) >= 0 && find(applied, e) < 0 })
		for _, element := range applied {
			var owned any
			if i := find(before, element); i >= 0 {
				owned = before[i]
			}
			if i := find(there, element); i >= 0 {
				there[i] = merge(there[i], element, owned, "")
			} else {
				there = append(there, element)
			}
		}
		return there
	}
	return applied
}

func (s *server) nextUID() types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.uids+1))
}

// store stores an object, sends its event, and starts the kubelet or the controller that handles
// the object.
func (s *server) store(resource schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	at := keyOf(obj.GetNamespace(), obj.GetName())
	before := s.objects[resource][at]
	obj = obj.DeepCopy()
	if before != nil {
		same := before.DeepCopy()
		same.SetResourceVersion(obj.GetResourceVersion())
		same.SetGeneration(obj.GetGeneration())
		if reflect.DeepEqual(same.Object, obj.Object) {
			return before // no change, no event
		}
	}
	s.revision++
	obj.SetResourceVersion(fmt.Sprint(s.revision))
	switch {
	case before == nil:
		if obj.GetUID() == "" {
			obj.SetUID(s.nextUID())
			s.uids++
		}
		obj.SetCreationTimestamp(metav1.NewTime(time.Now()))
		obj.SetGeneration(1)
	case !reflect.DeepEqual(before.Object["spec"], obj.Object["spec"]):
		obj.SetGeneration(before.GetGeneration() + 1)
	default:
		obj.SetGeneration(before.GetGeneration())
	}
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]*unstructured.Unstructured{}
	}
	s.objects[resource][at] = obj
	s.tell(event{revision: s.revision, resource: resource, before: before, after: obj})
	switch {
	case resource == podsResource && before == nil && obj.Object["status"] == nil:
		time.AfterFunc(podStarts, func() { s.startPod(at, obj.GetUID()) })
	case resource == strategy.DeploymentResource() && (before == nil || before.GetGeneration() != obj.GetGeneration()):
		time.AfterFunc(deploymentTakes, func() { s.rollOut(at, obj.GetUID()) })
	}
	return obj
}

func (s *server) tell(e event) {
	e.at = time.Now()
	s.history = append(s.history, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// delete deletes an object. A running pod terminates first.
func (s *server) delete(resource schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	if resource != podsResource || phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) {
		s.remove(resource, obj)
		return obj
	}
	if obj.GetDeletionTimestamp() != nil {
		return obj
	}
	grace, found, _ := unstructured.NestedInt64(obj.Object, "spec", "terminationGracePeriodSeconds")
	if !found {
		grace = 30
	}
	obj = obj.DeepCopy()
	obj.SetDeletionTimestamp(new(metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))))
	obj.SetDeletionGracePeriodSeconds(&grace)
	return s.store(resource, obj)
}

func (s *server) remove(resource schema.GroupVersionResource, obj *unstructured.Unstructured) {
	at := keyOf(obj.GetNamespace(), obj.GetName())
	if now := s.objects[resource][at]; now == nil || now.GetUID() != obj.GetUID() {
		return
	}
	delete(s.objects[resource], at)
	s.revision++
	s.tell(event{revision: s.revision, resource: resource, before: obj})
	for _, resource := range []schema.GroupVersionResource{podsResource, strategy.DeploymentResource(), strategy.RevisionResource()} {
		for _, child := range s.objects[resource] { // the garbage collector
			if ref := metav1.GetControllerOf(child); ref != nil && ref.UID == obj.GetUID() {
				time.AfterFunc(podEnds, func() { s.collect(resource, child.GetNamespace(), child.GetName()) })
			}
		}
	}
}

func (s *server) collect(resource schema.GroupVersionResource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj := s.objects[resource][keyOf(namespace, name)]; obj != nil {
		s.delete(resource, obj)
	}
}

func (s *server) startPod(at string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := s.objects[podsResource][at]
	if pod == nil || pod.GetUID() != uid || pod.GetDeletionTimestamp() != nil || pod.Object["status"] != nil {
		return
	}
	pod = pod.DeepCopy()
	pod.Object["status"] = running(true)
	s.store(podsResource, pod)
}

func running(ready bool) map[string]any {
	condition := map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	if ready {
		condition["status"] = "True"
	}
	return map[string]any{"phase": "Running", "conditions": []any{condition}}
}

// kubelets removes each terminating pod when podEnds has passed since its deletion, until done is closed.
func (s *server) kubelets(done <-chan struct{}) {
	for {
		s.mu.Lock()
		for _, pod := range s.objects[podsResource] {
			if pod.GetDeletionTimestamp() != nil && pod.GetAnnotations()[stuck] == "" && len(pod.GetFinalizers()) == 0 {
				began := pod.GetDeletionTimestamp().Add(-time.Duration(*pod.GetDeletionGracePeriodSeconds()) * time.Second)
				if !time.Now().Before(began.Add(podEnds)) {
					s.remove(podsResource, pod)
				}
			}
		}
		s.mu.Unlock()
		select {
		case <-time.After(podEnds / 2):
		case <-done:
			return
		}
	}
}

func (s *server) rollOut(at string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.objects[strategy.DeploymentResource()][at]
	if d == nil || d.GetUID() != uid {
		return
	}
	d = d.DeepCopy()
	replicas, found, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	d.Object["status"] = map[string]any{
		"observedGeneration": d.GetGeneration(), "replicas": replicas, "updatedReplicas": replicas,
		"readyReplicas": replicas, "availableReplicas": replicas,
	}
	s.store(strategy.DeploymentResource(), d)
}

// put stores an object without validation, as if the object were older than a validation rule.
func (s *server) put(resource schema.GroupVersionResource, obj map[string]any) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store(resource, &unstructured.Unstructured{Object: obj}).DeepCopy()
}

func (s *server) edit(resource schema.GroupVersionResource, namespace, name string, change func(*unstructured.Unstructured)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj := s.objects[resource][keyOf(namespace, name)]; obj != nil {
		obj = obj.DeepCopy()
		change(obj)
		s.store(resource, obj)
	}
}

// drop deletes an object as a user would, if it exists.
func (s *server) drop(resource schema.GroupVersionResource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj := s.objects[resource][keyOf(namespace, name)]; obj != nil {
		s.delete(resource, obj)
	}
}

func (s *server) get(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[resource][keyOf(namespace, name)].DeepCopy()
}

func (s *server) all(resource schema.GroupVersionResource) []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*unstructured.Unstructured, 0, len(s.objects[resource]))
	for _, at := range slices.Sorted(maps.Keys(s.objects[resource])) {
		list = append(list, s.objects[resource][at].DeepCopy())
	}
	return list
}

func (s *server) done(match func(write) bool) []write {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []write
	for _, w := range s.writes {
		if match == nil || match(w) {
			list = append(list, w)
		}
	}
	return list
}

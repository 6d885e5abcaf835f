package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is a request that the server received.
type Request struct {
	// Verb is the RBAC verb: get, list, watch, create, update, patch, delete, or
	// deletecollection. It is "get" for paths without a resource.
	Verb string
	// Method, Path, and Query are the HTTP method, the URL path, and the parsed query.
	Method, Path string
	Query        url.Values
	// Group, Version, Resource, Subresource, Namespace, and Name come from the path. All are empty without a resource.
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	// ContentType, UserAgent, and User come from the headers. User is the impersonated user or,
	// without one, the bearer token.
	ContentType, UserAgent, User string
	Body                         []byte
	// At is when the server received the request.
	At time.Time

	accept   string
	resource *resource
	version  *version
}

// String returns the verb, the resource, and any name, such as "patch deployments/scale default/web". For a request
// without a resource, it returns the verb and the path.
func (r Request) String() string {
	if r.Resource == "" {
		return r.Verb + " " + r.Path
	}
	text := r.Verb + " " + r.target()
	if r.Name != "" {
		text += " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	}
	return text
}

func (r Request) target() string {
	return strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
}

func (r Request) dryRun() bool { return r.Query.Get("dryRun") == metav1.DryRunAll }

// manager returns the field manager of a write. The default is the name in the user agent.
func (r Request) manager() string {
	if named := r.Query.Get("fieldManager"); named != "" {
		return named
	}
	name, _, _ := strings.Cut(r.UserAgent, "/")
	return name
}

func parse(r *http.Request, body []byte) Request {
	request := Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Body: body, Verb: "get", accept: r.Header.Get("Accept"),
		ContentType: r.Header.Get("Content-Type"), UserAgent: r.UserAgent(), User: r.Header.Get("Impersonate-User"), At: time.Now(),
	}
	if token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found && request.User == "" {
		request.User = token
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		request.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		request.Group, request.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return request
	}
	if len(parts) > 2 && parts[0] == "namespaces" && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		request.Namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	request.Resource, request.Name, request.Subresource = parts[0], parts[1], parts[2]
	switch r.Method {
	case http.MethodGet:
		switch watching := request.Query.Get("watch"); {
		case watching != "" && watching != "0" && watching != "false":
			request.Verb = "watch"
		case request.Name == "":
			request.Verb = "list"
		}
	case http.MethodPost:
		request.Verb = "create"
	case http.MethodPut:
		request.Verb = "update"
	case http.MethodPatch:
		request.Verb = "patch"
	case http.MethodDelete:
		request.Verb = "delete"
		if request.Name == "" {
			request.Verb = "deletecollection"
		}
	}
	return request
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, request Request) {
	after, err := s.admit(r.Context(), request)
	if err == nil {
		err = s.answer(w, r, request, after)
	}
	if err != nil {
		writeError(w, err)
	}
}

// answer responds to an admitted request. It calls after() just before the response, except for a watch, a log, or a
// type that is not served.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, request Request, after func()) error {
	if request.Resource != "" {
		if request.resource, request.version = s.requested(request); request.version == nil {
			return pageNotFound(request)
		}
		if request.version.warning != "" {
			w.Header().Set("Warning", fmt.Sprintf("299 - %q", request.version.warning))
		}
	}
	var answer any
	var err error
	code := http.StatusOK
	if request.Verb == "create" {
		code = http.StatusCreated
	}
	switch {
	case request.Resource == "":
		answer, err = s.about(request)
	case request.Verb == "watch":
		return s.watch(w, r, request)
	case request.target() == "pods/log":
		return s.log(w, request)
	case request.resource.review:
		answer, err = s.review(request)
	default:
		answer, err = s.do(request)
	}
	after()
	if err == nil {
		writeJSON(w, code, answer)
	}
	return err
}

// requested returns the type and the version of a request. The version is nil if the server does not serve it.
func (s *Server) requested(request Request) (*resource, *version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if r.group == request.Group && r.plural == request.Resource {
			return r, r.version(request.Version)
		}
	}
	return nil, nil
}

// do handles a request for objects, except for a watch, a log, or a review.
func (s *Server) do(r Request) (any, error) {
	s.mu.Lock()
	defer s.unlock()
	if r.Verb == "list" {
		return s.list(r)
	}
	if r.Verb == "create" && r.Name == "" {
		return s.create(r)
	}
	obj := s.objects[r.resource.gr()][r.Namespace+"/"+r.Name]
	switch {
	case r.Subresource == "", r.Subresource == "status" && r.version.status:
	case r.Subresource == "scale" && r.version.scale != nil:
		return s.doScale(r, obj)
	default:
		return nil, pageNotFound(r)
	}
	switch {
	case r.Verb == "patch" && obj == nil && isApply(r) && r.Subresource == "":
		return s.applyNew(r)
	case obj == nil:
		return nil, apierrors.NewNotFound(r.resource.gr(), r.Name)
	case r.Verb == "get":
		s.checkRequest(r, "", obj, obj)
		return r.view(obj), nil
	case r.Verb == "delete":
		return s.delete(r, obj)
	case r.Verb == "update", r.Verb == "patch":
		return s.modify(r, obj)
	}
	return nil, apierrors.NewMethodNotSupported(r.resource.gr(), r.Verb)
}

// log serves the annotation example.com/log of a pod as its log. The only supported option is tailLines.
func (s *Server) log(w http.ResponseWriter, r Request) error {
	pod := s.Get("pods", r.Namespace, r.Name)
	if pod == nil {
		return apierrors.NewNotFound(r.resource.gr(), r.Name)
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	lines := strings.SplitAfter(pod.GetAnnotations()["example.com/log"], "\n")
	if tail, err := strconv.Atoi(r.Query.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-tail):]
	}
	_, _ = io.WriteString(w, strings.Join(lines, ""))
	return nil
}

func pageNotFound(r Request) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "404 page not found", 0, true)
}

func writeJSON(w http.ResponseWriter, code int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		writeError(w, err)
		return
	}
	format := "application/json"
	if _, is := answer.(apidiscoveryv2.APIGroupDiscoveryList); is {
		format += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	}
	w.Header().Set("Content-Type", format)
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(d.RetryAfterSeconds))
	}
	writeJSON(w, int(status.Code), status)
}

// statusOf converts an error to a Status. An error that is not an API error becomes an internal error.
func statusOf(err error) metav1.Status {
	told := apierrors.APIStatus(apierrors.NewInternalError(err))
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		told = known
	}
	status := told.Status()
	status.APIVersion, status.Kind = "v1", "Status"
	return status
}

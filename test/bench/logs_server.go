package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// logServer is an API server with one ImoocPod that never changes, and whose pods
// all have the same log.
type logServer struct {
	pods []corev1.Pod
	// plain is the log of each pod; timed is the same with timestamps.
	plain, timed []byte
}

// logLine returns a typical log line of a service.
func logLine(n int) string {
	return fmt.Sprintf(`level=info msg="request served" method=GET path=/api/v1/things/%07d status=200 duration=12ms bytes=4096`+"\n", n)
}

func startLogServer(pods, lines int) *httptest.Server {
	s := &logServer{}
	at := time.Now().Add(-time.Hour).UTC()
	for n := range lines {
		line := logLine(n)
		s.plain = append(s.plain, line...)
		s.timed = append(at.Add(time.Duration(n)*time.Microsecond).AppendFormat(s.timed, time.RFC3339Nano), ' ')
		s.timed = append(s.timed, line...)
	}
	const owner = types.UID("11111111-2222-3333-4444-555555555555")
	for i := range pods {
		name := fmt.Sprintf("foo-0f1e2d3c-%d", i)
		s.pods = append(s.pods, corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "default", UID: types.UID(name), ResourceVersion: "1", CreationTimestamp: metav1.Now(),
				Labels:          map[string]string{"app": "foo", "imoocpod.dev/owner-uid": string(owner), "imoocpod.dev/slot": fmt.Sprint(i)},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: imoocPods().GroupVersion().String(), Kind: "ImoocPod", Name: "foo", UID: owner, Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "main"}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, ContainerID: "x://" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}},
			},
		})
	}
	foo := map[string]any{
		"apiVersion": imoocPods().GroupVersion().String(), "kind": "ImoocPod",
		"metadata": map[string]any{"name": "foo", "namespace": "default", "uid": owner, "resourceVersion": "1", "generation": 1},
		"spec":     map[string]any{"replicas": pods},
		"status":   map[string]any{"observedGeneration": 1, "replicas": pods, "readyReplicas": pods},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api", answer(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}))
	mux.HandleFunc("GET /apis", answer(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}}))
	mux.HandleFunc("GET /api/v1", answer(metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: "v1",
		APIResources: []metav1.APIResource{{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get", "list", "watch"}}},
	}))
	mux.HandleFunc("GET /apis/"+imoocPods().GroupVersion().String()+"/namespaces/default/imoocpods", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			hold(w, r)
			return
		}
		answer(map[string]any{"apiVersion": imoocPods().GroupVersion().String(), "kind": "ImoocPodList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{foo}})(w, r)
	})
	mux.HandleFunc("GET /api/v1/namespaces/default/pods", s.listPods)
	mux.HandleFunc("GET /api/v1/namespaces/default/pods/{name}/log", s.sendLog)
	return httptest.NewServer(mux)
}

// answer returns a handler that sends a value as JSON.
func answer(value any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // the client may be gone
	}
}

// hold keeps a request open without sending anything.
func hold(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).Flush() // the client may be gone
	<-r.Context().Done()
}

// listPods lists the pods. A watch without a resource version starts with all of
// them.
func (s *logServer) listPods(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("watch") == "" {
		answer(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: s.pods})(w, r)
		return
	}
	if version := query.Get("resourceVersion"); strings.Trim(version, "0") == "" {
		for _, pod := range s.pods {
			answer(map[string]any{"type": "ADDED", "object": pod})(w, r)
		}
	}
	hold(w, r)
}

func (s *logServer) sendLog(w http.ResponseWriter, r *http.Request) {
	log := s.plain
	if r.URL.Query().Get("timestamps") == "true" {
		log = s.timed
	}
	w.Header().Set("Content-Type", "text/plain")
	if _, err := w.Write(log); err == nil {
		hold(w, r)
	}
}

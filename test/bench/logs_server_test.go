package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestLogServer checks what the compared programs request: the object, a list and
// a watch of its pods, and a log that stays open.
func TestLogServer(t *testing.T) {
	server := startLogServer(3, 5)
	defer server.Close()
	c, err := newClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := c.dynamic.Resource(imoocPods()).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(objects.Items) != 1 {
		t.Fatalf("%v, %v", objects, err)
	}
	pods, err := c.core.Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 3 || !metav1.IsControlledBy(&pods.Items[0], &objects.Items[0]) {
		t.Fatalf("%v, %v", pods, err)
	}
	watched, err := c.core.Pods("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	for range pods.Items {
		if event := <-watched.ResultChan(); event.Type != "ADDED" {
			t.Errorf("got first event %+v", event)
		}
	}
	log, err := c.core.Pods("default").GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{Follow: true, Timestamps: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	from := bufio.NewReader(log)
	for n := range 5 {
		line, err := from.ReadString('\n')
		at, text, _ := strings.Cut(line, " ")
		if _, wrong := time.Parse(time.RFC3339Nano, at); err != nil || wrong != nil || text != logLine(n) {
			t.Errorf("line %d: got %q, error %v", n, line, err)
		}
	}
}

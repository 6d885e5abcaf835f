package follow

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// After a watch has ended, the next response shows whether the connection is lost. An error status
// from the server means a lost connection only if the error is transient.
func TestConnectionAfterAWatchEnds(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	for _, c := range []struct {
		name string
		err  error
		lost bool
	}{
		{"accepted", nil, false},
		{"the type is gone", apierrors.NewNotFound(things, ""), false},
		{"not allowed any more", apierrors.NewForbidden(things, "", nil), false},
		{"too old", apierrors.NewResourceExpired("too old"), false},
		{"away", &url.Error{Op: "Get", URL: "https://server", Err: errors.New("connection refused")}, true},
		{"starting", apierrors.NewServiceUnavailable("starting"), true},
		{"the program ends", context.Canceled, true}, // the error does not show that there is a connection
	} {
		bubble.Test(t, func(t *testing.T) {
			var told []bool
			connection := &Connection{Changed: func(lost time.Time) { told = append(told, !lost.IsZero()) }}
			ends := func(events chan<- watch.Event) error { close(events); return nil }
			later := slices.Repeat([]func(chan<- watch.Event) error{refuses(c.err)}, 10)
			s := script{watches: slices.Insert(later, 0, ends)}
			ignore := func(runtime.Object, bool) (bool, error) { return false, nil }
			go func() {
				_ = followChanges(t.Context(), s.source(), metav1.ListOptions{}, "1", connection, ignore)
			}()
			pass(3 * lossTold)
			if want := []bool{true}; c.lost && !slices.Equal(told, want) || !c.lost && told != nil {
				t.Errorf("%s: told that the connection was lost: %v, want %t", c.name, told, c.lost)
			}
		})
	}
}

// Short losses are not reported. After a reported loss, the return of the connection is reported, too.
func TestConnectionIsBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var told []time.Time
		connection := &Connection{Changed: func(lost time.Time) { told = append(told, lost) }}
		away := apierrors.NewServiceUnavailable("away")
		connection.note(away)
		<-time.After(lossTold / 2)
		connection.note(nil)
		pass(2 * lossTold)
		if told != nil {
			t.Fatalf("a break of half of the time was told: %v", told)
		}
		lost := time.Now()
		connection.note(away)
		<-time.After(lossTold / 2)
		connection.note(away)
		pass(lossTold)
		connection.note(nil)
		if want := []time.Time{lost, {}}; !slices.EqualFunc(told, want, time.Time.Equal) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

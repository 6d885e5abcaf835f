package follow

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// Connection does not report short losses. After it has reported a loss, it also reports the end of the loss.
func TestConnectionIsBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var reported []time.Time
		connection := &Connection{Changed: func(lost time.Time) { reported = append(reported, lost) }}
		away := apierrors.NewServiceUnavailable("away")
		connection.note(away)
		<-time.After(lossTold / 2)
		connection.note(nil)
		pass(2 * lossTold)
		if reported != nil {
			t.Fatalf("a short loss was reported: %v", reported)
		}
		lost := time.Now()
		connection.note(away)
		<-time.After(lossTold / 2)
		connection.note(away)
		pass(lossTold)
		connection.note(nil)
		if want := []time.Time{lost, {}}; !slices.EqualFunc(reported, want, time.Time.Equal) {
			t.Errorf("reported = %v, want %v", reported, want)
		}
	})
}

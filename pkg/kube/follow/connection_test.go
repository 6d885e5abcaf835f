package follow

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

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

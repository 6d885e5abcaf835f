package follow

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// The channel of Known is closed before subscribers are notified of the first objects or error.
func TestKnownOnceReported(t *testing.T) {
	t.Parallel()
	for name, learn := range map[string]func(*podFeed){
		"objects": func(f *podFeed) { f.replace(nil) },
		"error":   func(f *podFeed) { f.Refuse(errors.New("no")); f.Refuse(errors.New("still no")) },
	} {
		f := newFeed()
		told := 0
		f.Subscribe(t, Subscriber{Matters: func(...types.UID) bool { return true }, Notify: func() {
			told++
			select {
			case <-f.Known():
			default:
				t.Errorf("%s: told before they are known", name)
			}
		}})
		learn(f)
		if told == 0 {
			t.Errorf("%s: nobody is told", name)
		}
	}
}

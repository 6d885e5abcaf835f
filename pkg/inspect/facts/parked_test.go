package facts

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func TestParkedCount(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		`{"replicas":5,"path":".spec.replicas","by":"alice","at":"2026-11-22T10:00:00Z"}`: true,
		`{"replicas":5,"path":".spec.replicas"}`:                                          true,
		`{"replicas":1,"path":".spec.replicas"}`:                                          true,
		`{"replicas":0,"path":".spec.replicas"}`:                                          false,
		`{"replicas":5}`:                                                                  false,
		`{"replicas":5e9,"path":".spec.replicas"}`:                                        false,
		`{"replicas":5,"path":".spec["}`:                                                  false,
		`{"replicas":5,"path":".spec.replicas","at":"yesterday"}`:                         false,
		`five`: false, ``: false, `null`: false,
	} {
		p, path, err := Parked(annotated(apis.AnnotationParked, text))
		if (err == nil) != valid || (p != nil) != valid || (path != nil) != valid {
			t.Errorf("Parked(%s) = %+v, error %v; want valid: %t", text, p, err, valid)
		}
	}
	if p, path, err := Parked(annotated("other", "{}")); p != nil || path != nil || err != nil {
		t.Errorf("Parked() of an object that is not parked = %+v, error %v; want nil", p, err)
	}
}

func annotated(key, value string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAnnotations(map[string]string{key: value})
	return obj
}

// Whatever the annotation contains, a returned count is positive and has a path.
func FuzzParked(f *testing.F) {
	for _, text := range []string{"", "{}", `{"replicas":5,"path":".spec.replicas","by":"alice","at":"2026-01-02T12:00:00Z"}`, `{"replicas":-1,"path":".spec"}`, `{"replicas":2147483648}`, "null", "[]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, path, err := Parked(annotated(apis.AnnotationParked, text))
		if err != nil {
			return
		}
		if p == nil || path == nil || p.Replicas < 1 || p.Path == "" || p.Story(time.Time{}) == "" {
			t.Errorf("Parked(%q) = %+v, want a positive count with a path", text, p)
		}
	})
}

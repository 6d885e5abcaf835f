package informer

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// Behind reports whether a cache has not yet seen a write that was answered with
// this resourceVersion. See KEP-5504 for what makes the two comparable; where
// they cannot be compared, planning goes on: it is safe on an old cache, only
// wasteful.
func Behind(store cache.Store, written string) bool {
	return Older(store.LastStoreSyncResourceVersion(), written)
}

// Later is the higher of two resourceVersions, of which "" is none.
func Later(a, b string) string {
	if a == "" || Older(a, b) {
		return b
	}
	return a
}

// Older reports whether a resourceVersion is known to be lower than another.
func Older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

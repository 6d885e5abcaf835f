package informer

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// Behind reports whether a cache has not yet seen the write that the server answered with
// a resourceVersion. KEP-5504 makes the two comparable. If they are not, the cache does not
// count as behind: a plan on an old cache is safe, only wasteful.
func Behind(store cache.Store, written string) bool {
	return Older(store.LastStoreSyncResourceVersion(), written)
}

// Later returns the higher of two resourceVersions; "" is the lowest.
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

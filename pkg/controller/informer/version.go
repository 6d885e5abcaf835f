package informer

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Behind reports whether the cache has not yet seen a write. written is the resourceVersion in the
// response to the write (KEP-5504 makes resourceVersions comparable). If the comparison fails, or if
// the resource can no longer be watched, the cache does not count as behind, because a plan from an
// old cache is safe, only wasteful.
func (i *Informer) Behind(written string) bool {
	return Older(i.GetStore().LastStoreSyncResourceVersion(), written) && !i.health.refuses(i.Resource)
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

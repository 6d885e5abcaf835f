package kinds

// Source is what a server knows about a custom kind.
type Source struct {
	// Schema is the OpenAPI schema; nil if it is not known.
	Schema map[string]any
	// StatusServed is set if /status is served, so that only a controller writes the
	// status.
	StatusServed bool
	// SpecPath, StatusPath and SelectorPath are those of /scale.
	SpecPath, StatusPath, SelectorPath string
	// Annotations are those of the CRD.
	Annotations map[string]string
}

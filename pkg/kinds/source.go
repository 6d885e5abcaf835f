package kinds

// Source holds the server's information about a custom kind.
type Source struct {
	// Schema is the OpenAPI schema, or nil if it is unknown.
	Schema map[string]any
	// StatusServed means that the kind has the /status subresource, so that only a controller writes
	// the status.
	StatusServed bool
	// SpecPath, StatusPath, and SelectorPath are the paths of /scale, or "" if unknown.
	SpecPath, StatusPath, SelectorPath string
	// Annotations are the annotations of the CRD.
	Annotations map[string]string
}

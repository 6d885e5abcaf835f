package kinds

// Source is the server's information about a custom kind.
type Source struct {
	Schema map[string]any // the OpenAPI schema, or nil if it is unknown
	// StatusServed means that the kind has the /status subresource. Usually, only a controller writes such a status.
	StatusServed bool
	// SpecPath, StatusPath, and SelectorPath are the paths that define /scale, or "" if they are unknown.
	SpecPath, StatusPath, SelectorPath string
	Annotations                        map[string]string
}

package facts

import (
	"embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// profiles hold what annotations would say on CRDs that others install. One file
// is named after its CRD. What they say is needed for no write, and annotations
// of the CRD come first.
//
//go:embed profiles/*.yaml
var profiles embed.FS

// profileOf returns the profile of a kind, by annotation, or nil if it has none.
func profileOf(kind kinds.Kind) map[string]string {
	profile, err := readProfile(kind.CRD())
	if err != nil {
		return nil // which a test rules out for those that there are
	}
	return profile
}

// readProfile reads the profile of a CRD. It returns nil if there is none.
func readProfile(crd string) (map[string]string, error) {
	data, err := profiles.ReadFile("profiles/" + crd + ".yaml")
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // most kinds have none
	}
	words := map[string]string{}
	if err := yaml.UnmarshalStrict(data, &words); err != nil {
		return nil, fmt.Errorf("profile of %s: %w", crd, err)
	}
	said := map[string]string{}
	for key, word := range words {
		said[apis.Prefix+key] = strings.TrimSpace(word)
	}
	return said, nil
}

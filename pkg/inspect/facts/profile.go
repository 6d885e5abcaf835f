package facts

import (
	"embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// profiles contains annotations for CRDs of other programs, one file per CRD. Annotations of the CRD take precedence.
//
//go:embed profiles/*.yaml
var profiles embed.FS

// readProfile returns the profile of a CRD as a map of annotations. The map is empty if the CRD has no profile.
func readProfile(crd string) (map[string]string, error) {
	words, said := map[string]string{}, map[string]string{}
	data, err := profiles.ReadFile("profiles/" + crd + ".yaml")
	if err != nil {
		return said, nil //nolint:nilerr // most kinds have no profile
	}
	if err := yaml.UnmarshalStrict(data, &words); err != nil {
		return nil, fmt.Errorf("profile of %s: %w", crd, err)
	}
	for key, word := range words {
		said[apis.Prefix+key] = strings.TrimSpace(word)
	}
	return said, nil
}

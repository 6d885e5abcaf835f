package observe

import (
	"context"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// StatusFacts returns how to interpret the status of a kind's objects. count is the path of
// their count, nil if unknown.
func StatusFacts(ctx context.Context, finder *discover.Finder, kind kinds.Kind, count *fieldpath.Path) (facts.Facts, error) {
	if kind.BuiltIn() {
		return facts.New(kind, kinds.Source{}, count)
	}
	key := ""
	if count != nil {
		key = count.String()
	}
	return discover.FromSource(ctx, finder, kind, key, func(source kinds.Source) (facts.Facts, error) {
		return facts.New(kind, source, count)
	})
}

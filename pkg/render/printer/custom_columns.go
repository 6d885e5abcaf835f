package printer

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// CustomColumns prints objects in the columns of "kubectl get -o custom-columns". A watch calls
// PrintObj repeatedly. The headers appear only once, and the columns keep their widths.
type CustomColumns struct {
	columns
	headers []string
	paths   []*jsonpath.JSONPath
}

// ParseCustomColumns parses HEADER:PATH,HEADER:PATH,…
func ParseCustomColumns(spec string) (*CustomColumns, error) {
	if spec == "" {
		return nil, errors.New("custom-columns format specified but no custom columns given")
	}
	c := &CustomColumns{}
	for part := range strings.SplitSeq(spec, ",") {
		header, expression, found := strings.Cut(part, ":")
		if !found {
			return nil, fmt.Errorf("unexpected custom-columns spec: %s, expected <header>:<json-path-expr>", part)
		}
		path, err := fieldpath.ParseJSONPath(expression)
		if err != nil {
			return nil, fmt.Errorf("custom column %s: %w", header, err)
		}
		c.headers, c.paths = append(c.headers, header), append(c.paths, path)
	}
	return c, nil
}

// PrintObj writes a row for an unstructured object, or for each object in a list. Commas separate several values.
func (c *CustomColumns) PrintObj(obj runtime.Object, w io.Writer) error {
	var objects []unstructured.Unstructured
	switch obj := obj.(type) {
	case *unstructured.UnstructuredList:
		objects = obj.Items
	case *unstructured.Unstructured:
		objects = append(objects, *obj)
	default:
		return fmt.Errorf("custom columns of a %T cannot be printed", obj)
	}
	rows := [][]string{c.headers}
	for _, obj := range objects {
		var row []string
		for i, path := range c.paths {
			results, err := path.FindResults(obj.Object)
			if err != nil {
				return fmt.Errorf("custom column %s: %w", c.headers[i], err)
			}
			var values []string
			for _, value := range slices.Concat(results...) {
				values = append(values, fmt.Sprint(value.Interface()))
			}
			row = append(row, orNone(strings.Join(values, ",")))
		}
		rows = append(rows, row)
	}
	return c.print(w, rows)
}

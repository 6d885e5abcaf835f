package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/version"
)

// ServerVersion asks the server for its version.
func (c *Factory) ServerVersion(ctx context.Context) (*version.Info, error) {
	client, err := c.Core()
	if err != nil {
		return nil, err
	}
	body, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	info := &version.Info{}
	if err := json.Unmarshal(body, info); err != nil {
		return nil, fmt.Errorf("read the server's version: %w", err)
	}
	return info, nil
}

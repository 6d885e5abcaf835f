package main

import (
	"context"
	_ "embed" // for the policy
	"fmt"
	"strings"
)

// kwokPolicy is an admission policy that lets kwok, like a kubelet, delete only terminating pods. kwok
// deletes pods by name instead of UID, so without the policy, a repeated deletion could delete the next
// pod with the same name.
//
//go:embed kwok-policy.yaml
var kwokPolicy string

func (c *cluster) createKwokPolicy(ctx context.Context) error {
	policy, binding, _ := strings.Cut(kwokPolicy, "---\n")
	for resource, manifest := range map[string]string{
		"validatingadmissionpolicies": policy, "validatingadmissionpolicybindings": binding,
	} {
		request := c.core.RESTClient().Post().AbsPath("/apis/admissionregistration.k8s.io/v1", resource)
		err := request.SetHeader("Content-Type", "application/yaml").Body([]byte(manifest)).Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("create a policy for kwok: %w", err)
		}
	}
	return nil
}

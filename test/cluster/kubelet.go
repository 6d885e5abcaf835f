package main

import (
	"context"
	"fmt"
)

// holdKwokToKubelet creates an admission policy that prevents kwok from deleting pods that are not
// terminating, which a kubelet never does. kwok deletes pods by name instead of UID, so without the
// policy, a repeated deletion could delete the next pod with the same name.
func holdKwokToKubelet(ctx context.Context, api *apiClient) error {
	const name = "kwok-as-kubelet"
	for path, o := range map[string]object{
		"validatingadmissionpolicies": {
			"kind": "ValidatingAdmissionPolicy",
			"spec": object{
				"matchConstraints": object{"resourceRules": []any{object{
					"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "operations": []any{"DELETE"},
				}}},
				"matchConditions": []any{object{"name": "kwok", "expression": "request.userInfo.username == 'kwok'"}},
				"validations": []any{object{
					"expression": "has(oldObject.metadata.deletionTimestamp)",
					"message":    "a kubelet ends only pods that are being deleted",
				}},
			},
		},
		"validatingadmissionpolicybindings": {
			"kind": "ValidatingAdmissionPolicyBinding",
			"spec": object{"policyName": name, "validationActions": []any{"Deny"}},
		},
	} {
		o["apiVersion"] = "admissionregistration.k8s.io/v1"
		o["metadata"] = object{"name": name}
		if err := api.create(ctx, "/apis/admissionregistration.k8s.io/v1/"+path, o); err != nil {
			return fmt.Errorf("create a policy for kwok: %w", err)
		}
	}
	return nil
}

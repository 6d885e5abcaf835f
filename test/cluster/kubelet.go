package main

import (
	"context"
	"fmt"
)

// holdKwokToKubelet makes kwok delete what a kubelet would: a pod that somebody
// else has begun to delete. It names a pod and not its UID, so a deletion that it
// sends twice would otherwise end the next pod of the same name.
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

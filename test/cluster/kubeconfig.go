package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// writeKubeconfig writes a self-contained kubeconfig as JSON, which is valid YAML.
func writeKubeconfig(path, server string, ca []byte, user string, client keyPair) error {
	config := object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{
			"name":    "cluster",
			"cluster": object{"server": server, "certificate-authority-data": ca},
		}},
		"users": []object{{
			"name": user,
			"user": object{"client-certificate-data": client.cert, "client-key-data": client.key},
		}},
		"contexts": []object{{
			"name":    "cluster",
			"context": object{"cluster": "cluster", "user": user},
		}},
		"current-context": "cluster",
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the kubeconfig of %s: %w", user, err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return nil
}

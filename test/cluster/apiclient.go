package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// apiClient is a minimal client of the API server with administrator rights. The few requests of the
// launcher do not justify a dependency on client-go.
type apiClient struct {
	server string
	http   *http.Client
}

func newAPIClient(server string, ca *authority) (*apiClient, error) {
	pair, err := ca.client("cluster-launcher", superusers)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, fmt.Errorf("load the certificate of the launcher: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	return &apiClient{
		server: server,
		http: &http.Client{
			Timeout: 10 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{
				RootCAs:      roots,
				Certificates: []tls.Certificate{certificate},
			}},
		},
	}, nil
}

// get sends a GET request, and decodes the response into result if result is not nil.
func (c *apiClient) get(ctx context.Context, path string, result any) error {
	return c.do(ctx, http.MethodGet, path, nil, result)
}

// create posts an object to the path of its collection.
func (c *apiClient) create(ctx context.Context, path string, o object) error {
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode an object for %s: %w", path, err)
	}
	return c.do(ctx, http.MethodPost, path, body, nil)
}

func (c *apiClient) do(ctx context.Context, method, path string, body []byte, result any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, data)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("decode the answer to %s %s: %w", method, path, err)
	}
	return nil
}

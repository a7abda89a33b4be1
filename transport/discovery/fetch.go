package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/relist-go/relist/transport"
)

// acceptAggregated asks for everything in one answer, which servers give since 1.27
// (v2 since 1.30).
// Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// kindAggregated is the kind of such an answer. The Content-Type says so too, but a
// proxy may have lost its parameters.
const kindAggregated = "APIGroupDiscoveryList"

// maxDiscovery bounds one answer: clusters with hundreds of custom types send a few MB.
const maxDiscovery = 64 << 20

// fetch reads the part of the server's discovery that q needs: the core group, and the
// other groups unless q finds its resource in the core group.
func fetch(ctx context.Context, client *transport.Client, q query) (*catalog, error) {
	c := &catalog{}
	if err := c.addRoot(ctx, client, "/api"); err != nil {
		return nil, err
	}
	if c.find(q) != nil && len(q.readings) == 0 {
		return c, nil
	}
	if err := c.addRoot(ctx, client, "/apis"); err != nil {
		return nil, err
	}
	return c, nil
}

// fetchAll reads all of the server's discovery.
func fetchAll(ctx context.Context, client *transport.Client) (*catalog, error) {
	c := &catalog{}
	for _, path := range []string{"/api", "/apis"} {
		if err := c.addRoot(ctx, client, path); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *catalog) addRoot(ctx context.Context, client *transport.Client, path string) (err error) {
	resp, err := client.Get(ctx, transport.Request{Path: path, Accept: acceptAggregated})
	if err != nil {
		return fmt.Errorf("discover what the server serves: %w", err)
	}
	defer func() {
		if closeErr := resp.Body.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("discover what the server serves: %w", closeErr)
		}
	}()
	if resp.MediaType != "application/json" {
		return fmt.Errorf("discover what the server serves: %w", resp.UnexpectedContent())
	}
	var answer struct {
		Kind  string            `json:"kind"`
		Items []aggregatedGroup `json:"items"`
	}
	err = json.UnmarshalRead(io.LimitReader(resp.Body, maxDiscovery), &answer, json.MatchCaseInsensitiveNames(false))
	switch {
	case err != nil:
		return fmt.Errorf("discover what the server serves: the answer to %s is not what an API server sends (is the address right?): %w", path, err)
	case answer.Kind == "APIVersions", answer.Kind == "APIGroupList":
		return errors.New("discover what the server serves: it has no aggregated discovery, as servers before Kubernetes 1.27")
	case answer.Kind != kindAggregated:
		return fmt.Errorf("discover what the server serves: the answer to %s is not what an API server sends (is the address right?)", path)
	}
	for _, group := range answer.Items {
		c.addAggregated(group)
	}
	return nil
}

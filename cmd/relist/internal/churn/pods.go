package churn

import "fmt"

// FillPods creates n Pods in several namespaces: replicas of a few programs, spread over ten nodes.
// Nothing changes them.
func FillPods(server Server, n int) error {
	programs := []struct{ name, image string }{{"web", "shop/web:1.4"}, {"cart", "shop/cart:2.0"}, {"search", "shop/search:0.9"}}
	for i := range n {
		program := programs[i%len(programs)]
		ip := fmt.Sprintf("10.1.%d.%d", i/250%250, 1+i%250)
		_, err := server.Create("pods", map[string]any{
			"metadata": map[string]any{
				"namespace": fmt.Sprint("ns-", i%namespaces),
				"name":      fmt.Sprintf("%s-%d", program.name, i),
				"labels":    map[string]any{"app": program.name},
			},
			"spec": map[string]any{
				"nodeName":   fmt.Sprint("node-", i%10),
				"containers": []any{map[string]any{"name": program.name, "image": program.image}},
			},
			"status": map[string]any{"phase": "Running", "podIP": ip, "podIPs": []any{map[string]any{"ip": ip}}},
		})
		if err != nil {
			return fmt.Errorf("create Pod %d of %d: %w", i+1, n, err)
		}
	}
	return nil
}

package peers;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Keeps the ConfigMaps of a server by a shared informer, for test/conformance/peers. Package digest there says what is printed.
 *
 * <p>Watches go over WebSocket, which is the default, or over HTTP with the argument --http.
 */
public final class Peer {
  private Peer() {}

  public static void main(String[] args) throws Exception {
    Config config = Config.fromKubeconfig(new File(System.getenv("KUBECONFIG")));
    config.setOnlyHttpWatches(List.of(args).contains("--http"));
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      SharedIndexInformer<ConfigMap> informer = client.configMaps().inAnyNamespace().runnableInformer(0);
      informer.stopped().whenComplete((done, error) -> say("stopped " + error));
      informer.start().whenComplete((done, error) -> {
        if (error != null) {
          error.printStackTrace();
          System.exit(1); // as run() and inform() would, which throw
        }
      });
      String last = "";
      while (true) {
        String line = line(informer.getStore().list());
        if (!line.equals(last)) {
          say(line);
          last = line;
        }
        Thread.sleep(100);
      }
    }
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static String line(List<ConfigMap> held) throws Exception {
    List<ConfigMap> objects = new ArrayList<>(held);
    objects.removeIf(c -> c.getMetadata().getName().startsWith("poison"));
    objects.sort(Comparator.<ConfigMap, String>comparing(c -> c.getMetadata().getNamespace()).thenComparing(c -> c.getMetadata().getName()));
    MessageDigest sum = MessageDigest.getInstance("SHA-256");
    for (ConfigMap c : objects) {
      add(sum, c.getMetadata().getNamespace());
      add(sum, c.getMetadata().getName());
      Map<String, String> data = c.getData() == null ? Map.of() : c.getData();
      new TreeMap<>(data).forEach((key, value) -> {
        add(sum, key);
        add(sum, value);
      });
      sum.update((byte) '\n');
    }
    return objects.size() + " " + HexFormat.of().formatHex(sum.digest()).substring(0, 16);
  }

  private static void add(MessageDigest sum, String text) {
    sum.update(text.getBytes(StandardCharsets.UTF_8));
    sum.update((byte) 0);
  }
}

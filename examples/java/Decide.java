import ai.onnxruntime.*;
import com.google.gson.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.stream.LongStream;

/** Decides with a policy file: java -cp 'lib/*' Decide.java POLICY.onnx ROWS [PRICES.json]. See examples/README.md.
 *  ROWS has numbers: features, or the token ids of a text. */
public class Decide {
  static final OrtEnvironment env = OrtEnvironment.getEnvironment();
  static final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);

  static JsonObject json(String path) throws IOException {
    return JsonParser.parseString(Files.readString(Path.of(path))).getAsJsonObject();
  }

  static float[] floats(JsonArray list) {
    float[] values = new float[list.size()];
    for (int i = 0; i < values.length; i++) values[i] = (float) list.get(i).getAsDouble();
    return values;
  }

  static void decide(OrtSession session, JsonObject about, Map<String, OnnxTensor> feeds) throws OrtException {
    try (OrtSession.Result result = session.run(feeds)) {
      long[] actions = (long[]) result.get("action").get().getValue();
      float[][] scores = (float[][]) result.get("scores").get().getValue();
      float[][] costs = result.get("expected_cost").isPresent() ? (float[][]) result.get("expected_cost").get().getValue() : null;
      JsonArray experts = about.getAsJsonArray("experts"), advice = about.getAsJsonArray("advice");
      for (int row = 0; row < actions.length; row++) {
        int action = (int) actions[row];
        if (action >= scores[row].length || !(scores[row][action] > -1e30f))
          throw new IllegalArgumentException("no decision for a row: a feature is not a number, or no pair is available");
        out.println(experts.get(action / advice.size()).getAsJsonObject().get("name").getAsString() + "\t"
            + advice.get(action % advice.size()).getAsJsonObject().get("name").getAsString() + "\t" + (costs == null ? "" : costs[row][action]));
      }
    }
  }

  public static void main(String[] args) throws Exception {
    JsonObject about = json(args[0] + ".json");
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(Path.of(args[0])));
    if (!HexFormat.of().formatHex(digest).equals(about.get("sha256").getAsString())) throw new IllegalArgumentException("the description is that of another policy");
    List<String> lines = Files.readAllLines(Path.of(args[1]));
    String input = about.has("encoder") ? about.getAsJsonObject("encoder").get("input").getAsString() : "features";
    Map<String, OnnxTensor> feeds = new HashMap<>();
    try (OrtSession session = env.createSession(args[0])) {
      if (input.equals("text")) {
        for (String line : lines) { // not padded, as in pipe, so that scores do not depend on other texts
          long[] ids = List.of(line.split(",")).stream().mapToLong(Long::parseLong).toArray();
          long[] ones = LongStream.generate(() -> 1).limit(ids.length).toArray();
          for (String name : session.getInputNames())
            feeds.put(name, OnnxTensor.createTensor(env, new long[][] {name.equals("input_ids") ? ids : name.equals("attention_mask") ? ones : new long[ids.length]}));
          decide(session, about, feeds);
        }
      } else if (input.equals("features")) {
        float[][] rows = new float[lines.size()][];
        for (int n = 0; n < rows.length; n++) rows[n] = floats(JsonParser.parseString("[" + lines.get(n) + "]").getAsJsonArray());
        feeds.put("features", OnnxTensor.createTensor(env, rows));
        JsonObject prices = about.has("prices") ? about.getAsJsonObject("prices").getAsJsonObject("inputs") : new JsonObject();
        if (args.length > 2) json(args[2]).entrySet().forEach(e -> prices.add(e.getKey(), e.getValue())); // others than the policy's are refused by the session
        for (String name : prices.keySet()) {
          boolean[] mask = new boolean[prices.getAsJsonArray(name).size()];
          for (int i = 0; i < mask.length && name.equals("available"); i++) mask[i] = prices.getAsJsonArray(name).get(i).getAsBoolean();
          Object row = name.equals("available") ? new boolean[][] {mask} : new float[][] {floats(prices.getAsJsonArray(name))};
          feeds.put(name, OnnxTensor.createTensor(env, row));
        }
        decide(session, about, feeds);
      } else throw new IllegalArgumentException("the policy takes an " + input + ", which this example does not read");
    }
    out.flush();
  }
}

import com.facebook.ads.utils.ServerSideApiUtil;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What facebook-java-business-sdk makes of each case. Reads the cases on standard input. */
public class RecordJava {
  private static final String NOT_SENT = "unsupported:";

  public static void main(String[] arguments) {
    var input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
    Gson gson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    List<Object> outcomes = new ArrayList<>();
    for (JsonElement one : gson.fromJson(input, JsonArray.class)) {
      outcomes.add(normalize(one.getAsJsonObject()));
    }
    new PrintStream(System.out, true, StandardCharsets.UTF_8).println(gson.toJson(outcomes));
  }

  /** The setters take text, so a number is given as its digits. */
  private static Object normalize(JsonObject one) {
    String field = one.get("field").getAsString();
    String value = one.get("input").getAsString();
    if (field.equals("app_user_id")) return NOT_SENT;
    if (field.equals("external_id")) return Map.of("kept", value);
    try {
      if (ServerSideApiUtil.isAlreadyHashed(value)) return Map.of("kept", value);
      // Genders are an enumeration: the caller finds its member.
      if (field.equals("ge") && !value.matches("[fm]")) return Map.of("error", true);
      return ServerSideApiUtil.normalize(value, field);
    } catch (RuntimeException error) {
      return Map.of("error", true);
    }
  }
}

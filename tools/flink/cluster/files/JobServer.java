/** Starts Beam's job server with an empty class path property: what it would find there it sends along with every job, and the cluster has the same jars. */
public class JobServer {
  public static void main(String[] args) throws Exception {
    System.setProperty("java.class.path", "");
    org.apache.beam.runners.flink.FlinkJobServerDriver.main(args);
  }
}
